package suite

import (
	"crypto/rsa"
	"fmt"
	"io"
	"math/big"

	"shakedown"
)

// PreMasterSizeRSA is the length of a premaster secret of static RSA in bytes.
const PreMasterSizeRSA = 48

// PreMasterRSA makes premaster secrets for static RSA (RFC 5246, section 7.4.7.1). In
// minimal work it encrypts one for each server key and sends that again and again; the
// server decrypts it every time. The zero value is ready for use.
type PreMasterRSA struct {
	kept  []keptPreMaster
	fresh keptPreMaster
}

type keptPreMaster struct {
	modulus    *big.Int
	version    shakedown.Version
	secret     [PreMasterSizeRSA]byte
	ciphertext []byte
}

// maxKeptPreMasters bounds the memory for servers that show ever new keys. No more than
// a few certificates answer under one name.
const maxKeptPreMasters = 32

// Encrypt returns a premaster secret and its ciphertext for the server's key, both valid
// until the next call. The version is the one offered in the ClientHello.
func (m *PreMasterRSA) Encrypt(pub *rsa.PublicKey, version shakedown.Version, w shakedown.Work, rand io.Reader) (secret, ciphertext []byte, err error) {
	if w != shakedown.WorkMinimal {
		if err := m.fresh.make(pub, version, rand); err != nil {
			return nil, nil, err
		}
		return m.fresh.secret[:], m.fresh.ciphertext, nil
	}
	for i := range m.kept {
		if k := &m.kept[i]; k.version == version && k.modulus.Cmp(pub.N) == 0 {
			return k.secret[:], k.ciphertext, nil
		}
	}
	if len(m.kept) == maxKeptPreMasters {
		m.kept = m.kept[:0]
	}
	var k keptPreMaster
	if err := k.make(pub, version, rand); err != nil {
		return nil, nil, err
	}
	m.kept = append(m.kept, k)
	kept := &m.kept[len(m.kept)-1]
	return kept.secret[:], kept.ciphertext, nil
}

// make draws a premaster secret and encrypts it with RSAES-PKCS1-v1_5 (RFC 8017,
// section 7.2.1). rsa.EncryptPKCS1v15 is deprecated and draws its own random bytes,
// so a handshake could not be replayed.
func (k *keptPreMaster) make(pub *rsa.PublicKey, version shakedown.Version, rand io.Reader) error {
	size := (pub.N.BitLen() + 7) / 8
	const overhead = 3 + 8 // 00 02, at least eight bytes of padding, 00
	if size < overhead+PreMasterSizeRSA || pub.N.Bit(0) == 0 || pub.E < 3 || pub.E&1 == 0 {
		return illegal("peer's RSA key of %d bits and exponent %d cannot encrypt", pub.N.BitLen(), pub.E)
	}
	block := make([]byte, size)
	block[1] = 2
	padding := block[2 : size-PreMasterSizeRSA-1]
	secret := block[size-PreMasterSizeRSA:]
	if err := readNonZero(rand, padding); err != nil {
		return err
	}
	if _, err := io.ReadFull(rand, secret); err != nil {
		return noRandom(err)
	}
	secret[0], secret[1] = uint8(version>>8), uint8(version)
	k.modulus, k.version, k.secret = pub.N, version, [PreMasterSizeRSA]byte(secret)

	c := new(big.Int).SetBytes(block)
	c.Exp(c, big.NewInt(int64(pub.E)), pub.N)
	k.ciphertext = c.FillBytes(block)
	return nil
}

// readNonZero fills b with random bytes that are not zero.
func readNonZero(rand io.Reader, b []byte) error {
	if _, err := io.ReadFull(rand, b); err != nil {
		return noRandom(err)
	}
	// Each byte is zero once in 256 times; a source that gives zeros a hundred times
	// in a row is not random.
	for i := range b {
		for tries := 0; b[i] == 0; tries++ {
			if tries == 100 {
				return fmt.Errorf("random source gives zeros only")
			}
			if _, err := io.ReadFull(rand, b[i:i+1]); err != nil {
				return noRandom(err)
			}
		}
	}
	return nil
}
