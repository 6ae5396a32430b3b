// Package handshake is the client side of TLS, made for measuring servers.
//
// A [Config] says what to offer and what to demand. [NewClient] checks it and
// lays out its ClientHello once. A [Machine] then takes one handshake at a time
// through its steps without doing any I/O:
//
//	bytes from the server ─► Machine.Feed        Machine.Next ─► Event
//	                                             (write these bytes, a phase was
//	                                             reached, a ticket came, done,
//	                                             failed, wait for more)
//
// [Do] is the short blocking loop around a Machine for one connection; a load
// generator drives thousands of Machines from one thread.
//
// The steps stand in the order of the RFCs: hello.go builds the ClientHello and
// server_hello.go reads the answer, tls13.go goes on with RFC 8446, tls12.go
// with RFC 5246.
//
// Invariants:
//
//   - The server does exactly the work a real client causes, in both kinds of
//     [shakedown.Work].
//   - What the server sends is checked for form and order, and its Finished is
//     verified, in both kinds of work: a handshake counted happened.
//   - A handshake whose mode, version or key exchange is not the one demanded is
//     a failure or is visible in [shakedown.Observed], never a silent fallback.
//   - A Machine starts no goroutine, and in steady state allocates next to
//     nothing: it is reset and reused.
package handshake
