// Package audit holds an nginx configuration beside the server that should run it: what package lint works out of the file
// and what package check sees of the server.
//
//	file ─► nginx.Model ─┐
//	                     ├─► rows: expected, observed, agree ─► findings of rule RUNNING-DIFFERS
//	server ─► check ─────┘
//
// Invariants:
//
//   - A row disagrees only if both sides are known. What the server did not tell, what the file cannot (http{} around a part,
//     an include that was not read), and what depends on others (an OCSP responder) is inconclusive, with the reason.
//   - What is expected is what nginx of the release makes of the file, not what the directive says: the default server of
//     the socket decides over session state whatever the server asked for says.
//   - A setting that means nothing here (groups of TLS 1.3 where it is off) has no row.
package audit
