// Package stek makes, looks at and rotates session ticket encryption keys.
//
// A ticket begins with the 16-byte name of the key it was encrypted with, in the clear; whoever holds the rest of the key
// reads every session whose ticket it encrypted. So names are shown everywhere and the rest nowhere.
//
// # Words
//
//   - Key: 48 or 80 random bytes in nginx's layout, name first. It cannot be printed.
//   - Set: three keys with roles. Current encrypts; next only decrypts, so that it can be on every host before one uses it;
//     previous only decrypts, until the tickets it made have expired.
//   - Store: where a Set is kept: a directory for nginx (Dir), a file for haproxy (HAProxy), or another machine.
//
// # Invariants
//
//   - A file is replaced in one step, readable by its owner alone, and at no moment is one missing.
//   - A key that may still have live tickets is not dropped unless told.
//   - No function returns or prints key bytes but MarshalBinary, which stores call.
package stek
