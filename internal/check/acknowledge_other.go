//go:build !linux

package check

import "net"

// canAcknowledge: only Linux lets a client say when it acknowledges.
const canAcknowledge = false

func acknowledging(c net.Conn) (conn net.Conn, ok bool) { return c, false }
