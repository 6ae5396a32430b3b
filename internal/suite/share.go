package suite

import (
	"errors"
	"fmt"
	"io"

	"shakedown"
)

// Share is our half of a key exchange: a key pair, or what stands for one in minimal
// work. The zero value is ready for [Share.Generate], and so is a used one.
//
// In minimal work the public value is one of which we know, without arithmetic, what
// the peer will make of it: the group's generator, so that the secret is the peer's own
// public value, or an ML-KEM key that hides nothing. The peer works as hard as ever.
// Whoever sees such a handshake can read it, so nothing secret goes over it.
type Share struct {
	group  shakedown.Group
	public []byte
	curve  curveKey
	kem    kemKey
	dh     dhKey
	parts  parts
}

// parts is what a group is made of. A hybrid group has a curve and a KEM.
type parts struct {
	curve    shakedown.Group // 0 for none
	kem      kem             // 0 for none
	kemFirst bool
	finite   bool // a finite field and nothing else
}

// groupParts has the groups that are implemented. X25519MLKEM768 puts ML-KEM first
// and the NIST hybrids the curve, as draft-ietf-tls-ecdhe-mlkem, section 4, has it.
var groupParts = map[shakedown.Group]parts{
	shakedown.X25519:             {curve: shakedown.X25519},
	shakedown.X448:               {curve: shakedown.X448},
	shakedown.Secp256r1:          {curve: shakedown.Secp256r1},
	shakedown.Secp384r1:          {curve: shakedown.Secp384r1},
	shakedown.Secp521r1:          {curve: shakedown.Secp521r1},
	shakedown.X25519MLKEM768:     {curve: shakedown.X25519, kem: mlkem768, kemFirst: true},
	shakedown.SecP256r1MLKEM768:  {curve: shakedown.Secp256r1, kem: mlkem768},
	shakedown.SecP384r1MLKEM1024: {curve: shakedown.Secp384r1, kem: mlkem1024},
	shakedown.FFDHE2048:          {finite: true},
	shakedown.FFDHE3072:          {finite: true},
	shakedown.FFDHE4096:          {finite: true},
	shakedown.FFDHE6144:          {finite: true},
	shakedown.FFDHE8192:          {finite: true},
}

// Groups returns the groups implemented for a version, most wanted first. For TLS 1.2
// and before they are the ones of ECDHE; finite fields come as parameters there, see
// [Share.GenerateDH].
func Groups(v shakedown.Version) []shakedown.Group {
	curves := []shakedown.Group{
		shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1, shakedown.X448,
	}
	switch {
	case v.AtLeast(shakedown.TLS13):
		hybrids := []shakedown.Group{shakedown.X25519MLKEM768, shakedown.SecP256r1MLKEM768, shakedown.SecP384r1MLKEM1024}
		return append(append(hybrids, curves...), shakedown.FFDHE2048, shakedown.FFDHE3072,
			shakedown.FFDHE4096, shakedown.FFDHE6144, shakedown.FFDHE8192)
	case v.AtLeast(shakedown.TLS10):
		return curves
	}
	return nil
}

// Generate makes a share of the group, with random bytes from rand. In minimal work
// it takes none.
func (s *Share) Generate(g shakedown.Group, w shakedown.Work, rand io.Reader) error {
	p, ok := groupParts[g]
	if !ok {
		return fmt.Errorf("group %v: %w", g, ErrNotSupported)
	}
	s.group, s.parts, s.public = g, parts{}, s.public[:0]
	if err := s.generate(p, w == shakedown.WorkMinimal, rand); err != nil {
		return err
	}
	s.parts = p
	return nil
}

func (s *Share) generate(p parts, minimal bool, rand io.Reader) (err error) {
	if p.finite {
		s.public, err = s.dh.generateNamed(s.public, s.group, minimal, rand)
		return err
	}
	if p.kem != 0 && p.kemFirst {
		if s.public, err = s.kem.generate(s.public, p.kem, minimal, rand); err != nil {
			return err
		}
	}
	if s.public, err = s.curve.generate(s.public, p.curve, minimal, rand); err != nil {
		return err
	}
	if p.kem != 0 && !p.kemFirst {
		s.public, err = s.kem.generate(s.public, p.kem, minimal, rand)
	}
	return err
}

// Group returns the group of the share. For [Share.GenerateDH] it is the one of RFC
// 7919 that has the same prime, or 0.
func (s *Share) Group() shakedown.Group { return s.group }

// Public returns the value to send. It is valid until the share is made anew.
func (s *Share) Public() []byte { return s.public }

// Secret appends the secret shared with the peer to dst. A peer's value that the
// group does not allow is the peer's fault (illegal_parameter).
func (s *Share) Secret(dst, peer []byte) ([]byte, error) {
	switch {
	case s.parts == parts{}:
		return dst, errors.New("key share used before it was generated")
	case s.parts.finite:
		return s.dh.secret(dst, peer)
	}
	curveSize, kemSize := curveSizes[s.parts.curve].public, s.parts.kem.ciphertextSize()
	if len(peer) != curveSize+kemSize {
		return dst, illegal("peer's %v share has %d bytes, not %d", s.group, len(peer), curveSize+kemSize)
	}
	var err error
	if s.parts.kemFirst {
		if dst, err = s.kem.secret(dst, peer[:kemSize]); err != nil {
			return dst, err
		}
		return s.curve.secret(dst, peer[kemSize:])
	}
	if dst, err = s.curve.secret(dst, peer[:curveSize]); err != nil || s.parts.kem == 0 {
		return dst, err
	}
	return s.kem.secret(dst, peer[curveSize:])
}
