// Package report turns what was measured into words and JSON.
//
// Each verb has a document: a plain value with its JSON field names, which are
// a contract (docs/json.md lists them, and a test holds both equal), and a
// WriteText method for people. A document is made from what the run gave,
// without new measurements, so that text and JSON never disagree.
//
// Rules of the texts: every figure has a unit, and the number of measurements
// or the interval that it rests on beside it; what was not seen is said to be
// so, with the reason; no line is longer than [Width] unless a name in it is.
package report
