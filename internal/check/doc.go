// Package check asks a server what it does, and says what of it could be better.
//
// A [Plan] names targets. [Run] puts the questions of [Questions] to each address
// in turn, then offers the sessions of each address to the others, and returns a
// [Report]: for each address an [Observation] and the findings drawn from it.
//
//	Question ─► prober ─► connections ─► Observation ─► findings, policy
//
// Invariants:
//
//   - Every answer is yes, no or inconclusive, with its evidence. A network
//     failure, a rate limit or a spent budget makes it inconclusive, never no:
//     no needs the server's own word, an alert or another choice.
//   - A proportion comes with its 95% interval, which takes into account that
//     tries of a wave depend on one another, and with how many connections
//     were open at once: none taken is no only if that many tries rule out that
//     one in five resumes. At once, since a server with state for each worker
//     looks far better in sequence: an idle kernel wakes the same worker.
//   - Mechanisms of resumption are never mixed: each is offered alone.
//   - No state is kept between addresses but what is offered on purpose.
//   - No more connections are made to an address than the plan allows, and one
//     question's trouble never ends the others.
package check
