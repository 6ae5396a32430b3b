// Package stats turns many measurements into few figures, each with the
// number of measurements behind it and how far it can be trusted.
//
//   - A [Recorder] keeps every duration of one load thread; its [Percentiles]
//     are what a report prints.
//   - A [Series] counts handshakes and failures in each second; its Rate is the
//     median over whole seconds.
//   - [Median] and [Wilson] put a 95% interval round a median and a proportion.
//   - [Compare] and [ComparePaired] say whether B differs from A, and by how
//     much, or that the measurements cannot tell.
//
// Invariants:
//
//   - Nothing is dropped: a zero, the smallest and the largest duration count
//     like any other, and what cannot be counted is returned as an error.
//   - No interval is invented: where too few measurements exist for one, its
//     bounds are infinite, which JSON shows as null.
//   - The same input gives the same output. Chance comes in only through the
//     *rand.Rand a caller passes.
//
// Nothing here is safe for use by several goroutines at once: each load thread
// has its own Recorder and Series, merged when the threads have ended.
package stats
