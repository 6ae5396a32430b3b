// Package peertest has TLS peers that misbehave, for tests of a client.
//
// There are four kinds. A [Behaviour] owns its end of a connection and does
// one wrong thing; [Serve] puts it on a port, [Pipe] in memory. A [Proxy] stands
// before a real server and spoils what passes: records cut, stalled, dropped,
// doubled, swapped, altered or delivered byte by byte, connections closed by
// number or by lot. A [Script] sends prepared bytes in answer to what arrives. A
// [Forge] is a server with keys, whose handshake messages a test changes before
// they are protected, and which reports the alert it got for that.
//
// Nothing here knows the engine under test. Everything listens on 127.0.0.1 and
// is gone, goroutines included, when the test ends; nothing is random unless a
// seed is given.
package peertest
