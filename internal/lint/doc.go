// Package lint finds what is wrong, wasteful or without effect in the TLS part of an nginx configuration.
//
// A rule is a folder of rules/ (its words, an example before and after, configurations on which it must and must not
// speak) and one function over the effective model of package nginx. The folder is data: rule.md is what -explain prints
// and before.conf and after.conf are run by the tests, through the rule and, where a release allows, through nginx -t.
//
// # Words
//
//   - Rule: what to look for and why, with the figure measured.
//   - Finding: a rule that speaks of one place, with the line, what is wrong there, and the fix.
//   - Note: something that could not be judged (a file that cannot be read, a version not known). Notes are not findings.
//
// # Invariants
//
//   - Whatever owns a handshake decides: session state and, before nginx 1.29.2, protocols belong to the default server
//     of the socket, so a rule about them asks that server.
//   - A finding names the directive to change; where nothing is written it names the block that lacks it.
//   - A rule that lacks a fact (a certificate, a version) stays silent and a note says so.
package lint
