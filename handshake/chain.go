package handshake

// Certificates returns the server's chain in DER, leaf first, as it was sent;
// nil if none was. It is not changed by later handshakes.
func (m *Machine) Certificates() [][]byte {
	if m.chain == nil {
		return nil
	}
	return m.chain.DER
}
