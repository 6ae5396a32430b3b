// Package suite is the cryptography of a TLS client: cipher suites, key
// schedules, record protection, key exchange and signatures. It reads and writes
// no message and knows no connection; package handshake calls it in order.
//
// What is where:
//
//   - [Info], found by [Lookup]: what a cipher suite number means.
//   - [KDF] and the secrets made from it: the key schedule of TLS 1.3 (RFC 8446,
//     section 7.1) and of TLS 1.2 (RFC 5246, section 8.1). Each stage is a type and
//     the next one a method of it, so none can be left out or taken twice.
//   - [Protection]: records, sealed and opened.
//   - [Share]: our half of a key exchange; [PreMasterRSA] is the one without a share.
//   - [Verify], [Sign], [CheckKey], [ParsePublicKey]: signatures and their keys.
//
// Invariants:
//
//   - Everything is a function of its inputs and of the random source given, so a
//     handshake can be replayed byte for byte. (Signatures made with ECDSA and
//     RSA-PSS are the exception: crypto/rsa and crypto/ecdsa choose for themselves.)
//   - Nothing here panics on what a peer sends; every error names the alert it
//     deserves, see [AlertFor].
//   - A value is used by one goroutine at a time and can be used again: that is what
//     makes a handshake cost few allocations.
//   - Work of kind minimal (shakedown.WorkMinimal) keeps no secret. It exists so that
//     load costs the server, not us.
package suite
