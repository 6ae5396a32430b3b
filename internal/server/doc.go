// Package server starts real TLS servers, each from one [Spec], so that the
// engine, the experiments and the tests can measure and question them.
//
// A [Driver] knows one kind of server: how to configure it, how to tell that it
// is up, what it cannot do, and where it keeps its own account of connections.
// [Drivers] lists them all. What a driver starts is a [Server]; it listens on
// 127.0.0.1 only (gnutls-serv and selfserv, which cannot be told to, on every
// address), keeps every file it needs in the directory it is given, and is gone
// with all its processes after Stop, after its context ends, and, on Linux, after
// this program dies.
//
// The directory keeps certificates and ticket keys: a server started again in it
// has the same identity, and a new root is made only in a new directory. Keys in
// it are for tests; all files are readable by their owner alone.
package server
