// Package lab makes controlled experiments on real TLS servers.
//
// A [Plan] is a file: factors with levels, each level a patch on what the server
// is to be and on the load it gets. Every combination of levels is a [Cell].
// [Run] measures all cells in rounds, shuffled anew in each, so that a machine
// that grows slower or faster meets all of them alike. [Analyse] makes effects
// of the rounds: ratios with intervals, p, and "no difference detected".
//
// Words:
//
//   - A turn is one cell measured in one round: its server is started, asked
//     whether it is what the plan says, warmed up, loaded, and stopped. A server
//     of its own for each turn makes what chance gives a process (where its
//     memory lies, say) part of the noise instead of a difference between cells.
//   - A round is one turn of every cell. Only complete rounds count; they are
//     kept as they end, so that an interrupted run loses at most one.
//   - An effect compares two levels of a factor within rounds.
//   - A cell is impossible if the kind of server cannot be what the plan says,
//     and failed if it could not be started, confirmed or measured. Neither is
//     ever replaced by something else.
//
// A run directory holds all that a report is made of:
//
//	plan.yaml          the plan as it was read
//	run.json           what was chosen beside it, and the cells that failed
//	environment.json   the machine, as shakedown host -o json has it
//	rounds/NN/ID.json  a [Measurement] for each cell, and primitives.json
//	servers/ID/        configuration and logs of the cell's last server
//	pki/               keys and certificates, made for this run alone
package lab
