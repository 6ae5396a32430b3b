// Package wire translates between bytes and the records, handshake messages and
// extensions of TLS 1.0 to 1.3 (RFC 2246, 4346, 5246 and 8446).
//
// It knows form and nothing else: whether a message may come now, whether its
// version, suite or extension was offered, is for the caller to judge. What
// holds of every parser:
//
//   - it never copies: slices alias the input, which must outlive them;
//   - it checks every length and rejects bytes left over;
//   - it fails with an [*Error] that bears the alert to answer with, and leaves
//     values that mean nothing;
//   - parsing into a value again reuses its slices and allocates nothing;
//   - it works in time and memory linear in the input, whose size the caller limits.
//
// Append functions do not check: a vector longer than its length field can tell
// gives a malformed message. A caller that repeats a peer's bytes (a ticket, a
// cookie) looks to their size.
package wire
