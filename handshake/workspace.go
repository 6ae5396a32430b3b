package handshake

import (
	crand "crypto/rand"
	"io"
	"math/rand/v2"

	"shakedown"
	"shakedown/internal/certificate"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// Workspace is what the Machines of one thread share: scratch space, chains
// parsed once, and the few values that minimal work may use again. It is not
// safe for concurrent use. The zero value is ready.
type Workspace struct {
	chains  certificate.Cache
	kdfs    [suite.SHA384 + 1]*suite.KDF
	rsa     suite.PreMasterRSA
	minimal *rand.ChaCha8
	out     []byte // records to send
	message []byte // a message being built
	block   [256]byte

	serverHello         wire.ServerHello
	encryptedExtensions wire.EncryptedExtensions
	certificate13       wire.CertificateTLS13
	certificate12       wire.CertificateTLS12
	request13           wire.CertificateRequestTLS13
	request12           wire.CertificateRequestTLS12
	verify              wire.CertificateVerify
	finished            wire.Finished
	ticket13            wire.NewSessionTicketTLS13
	ticket12            wire.NewSessionTicketTLS12
	exchangeECDHE       wire.ServerKeyExchangeECDHE
	exchangeDHE         wire.ServerKeyExchangeDHE
	list                [][]byte // of certificates
}

func (w *Workspace) kdf(h suite.Hash) *suite.KDF {
	if w.kdfs[h] == nil {
		w.kdfs[h] = suite.NewKDF(h)
	}
	return w.kdfs[h]
}

// random returns the source of randomness for cfg. Minimal work keeps no
// secret, so a fast generator that never repeats is enough.
func (w *Workspace) random(cfg *Config) io.Reader {
	switch {
	case cfg.Rand != nil:
		return cfg.Rand
	case cfg.Work != shakedown.WorkMinimal:
		return crand.Reader
	case w.minimal == nil:
		var seed [32]byte
		crand.Read(seed[:])
		w.minimal = rand.NewChaCha8(seed)
	}
	return w.minimal
}
