// Package shakedown is the vocabulary of Shakedown, the instrument that tells
// what a TLS handshake costs on a server, which settings make it cost that,
// and what to change.
//
// It holds plain data and nothing else, and imports only the standard library.
// Every verb turns a question into one or many handshakes, every handshake into
// one [Result], many Results into a summary or an observation, and those into
// words.
//
// The words:
//
//   - [Target]: whom to ask: host, port, addresses, the name for SNI.
//   - [Version], [CipherSuite], [Group], [SignatureScheme], [Extension],
//     [Alert]: code points, numbers with a name. Unknown numbers survive and
//     print as hexadecimal.
//   - [Mode]: how a handshake begins: full, session-id, ticket, psk, early-data.
//   - [Asked] and [Observed]: what the client offered or demanded, and what the
//     server did.
//   - [Result]: one attempted handshake with its [Phases], and a [Failure] or nil.
//
// Two rules hold everywhere. Nothing falls back silently: a Result whose
// Observed is not what was Asked is a failure of class [Incompatible] or is
// listed by [Asked.Mismatch]. And no text made of unchecked peer input is ever
// used as a key or a label: peers are described by code points.
package shakedown
