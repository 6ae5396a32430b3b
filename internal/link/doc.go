// Package link puts a slow network between load and a server on this machine,
// with the real TCP of the kernel on both ends.
//
// [Open] makes a network namespace for the load and joins it to the one of the
// server by two TUN devices. A thread of this process carries the IP packets from
// one to the other, and on the way delays, serialises and drops them as a
// [Config] says. [Link.Go] runs code inside, whose connections then cross the
// link.
//
//	load's namespace          this process             the server's namespace
//	TCP ─ TUN 198.18.x.2 ─── delay, rate, loss ─── TUN 198.18.x.1 ─ TCP ─ server
//
// The server stays as it is and where it is, and is reached by its own address,
// 127.0.0.1 too: the loopback device of the load's namespace is down, so that
// 127.0.0.0/8 leads over the link there, and both TUN devices are told to take
// such packets (route_localnet in the kernel's ip-sysctl.rst). Nothing is
// translated. Addresses are from 198.18.0.0/15, which RFC 2544 sets aside for
// measurements, and other ones for each link, so that what the server's kernel
// remembers of a client's address is not carried from one run into the next.
//
// Invariants:
//   - A packet is never early: what is emulated is at least the delay asked for.
//     How much too late packets were is counted in [Stats].
//   - Packets of one direction stay in order.
//   - Packets are no longer than the MTU: segmentation offload is off, so that the
//     initial window of ten segments (RFC 6928) holds as on a wire.
//   - Nothing is left behind, however the process ends: the devices live as long
//     as their descriptors, the namespace as long as its threads and sockets.
package link
