package suite

import (
	"crypto/mlkem"
	"crypto/sha3"
	"io"
)

// kem is a parameter set of ML-KEM (FIPS 203, section 8).
type kem uint16

const (
	mlkem768  kem = 768
	mlkem1024 kem = 1024
)

// ciphertextSize returns the length of a peer's answer in bytes; 0 for no KEM.
func (k kem) ciphertextSize() int {
	switch k {
	case mlkem768:
		return mlkem.CiphertextSize768
	case mlkem1024:
		return mlkem.CiphertextSize1024
	}
	return 0
}

// bits returns d_v, the bits to which each coefficient of v is compressed.
func (k kem) bits() int {
	if k == mlkem1024 {
		return 5
	}
	return 4
}

// kemKey is a decapsulation key.
type kemKey struct {
	kem     kem
	minimal bool
	key768  *mlkem.DecapsulationKey768
	key1024 *mlkem.DecapsulationKey1024
	seed    [mlkem.SeedSize]byte // scratch for rand
}

// generate makes a key and appends its encapsulation key to dst.
func (k *kemKey) generate(dst []byte, set kem, minimal bool, rand io.Reader) ([]byte, error) {
	k.kem, k.minimal = set, minimal
	if minimal {
		return append(dst, openKeys[set].key...), nil
	}
	if _, err := io.ReadFull(rand, k.seed[:]); err != nil {
		return dst, noRandom(err)
	}
	var err error
	if set == mlkem1024 {
		if k.key1024, err = mlkem.NewDecapsulationKey1024(k.seed[:]); err != nil {
			return dst, err
		}
		return append(dst, k.key1024.EncapsulationKey().Bytes()...), nil
	}
	if k.key768, err = mlkem.NewDecapsulationKey768(k.seed[:]); err != nil {
		return dst, err
	}
	return append(dst, k.key768.EncapsulationKey().Bytes()...), nil
}

// secret decapsulates the peer's ciphertext and appends the secret to dst.
func (k *kemKey) secret(dst, ciphertext []byte) ([]byte, error) {
	if len(ciphertext) != k.kem.ciphertextSize() {
		return dst, illegal("peer's ML-KEM-%d ciphertext has %d bytes, not %d", k.kem, len(ciphertext), k.kem.ciphertextSize())
	}
	if k.minimal {
		return k.openSecret(dst, ciphertext), nil
	}
	var shared []byte
	var err error
	if k.kem == mlkem1024 {
		shared, err = k.key1024.Decapsulate(ciphertext)
	} else {
		shared, err = k.key768.Decapsulate(ciphertext)
	}
	if err != nil {
		return dst, illegal("peer's ML-KEM-%d ciphertext: %v", k.kem, err)
	}
	return append(dst, shared...), nil
}

// openKey is an encapsulation key that hides nothing: its t is zero, and its rho, which
// may be anything, is zero too.
//
// K-PKE.Encrypt (FIPS 203, algorithm 14) computes v = t*y + e2 + mu, where mu has q/2
// for each 1 bit of the message m and e2 is at most 2 in size. With t = 0 the secret
// key is not needed to take t*y away: v is the message and a little noise.
type openKey struct {
	key  []byte
	hash [32]byte // H(ek)
}

var openKeys = func() map[kem]openKey {
	m := map[kem]openKey{}
	for set, size := range map[kem]int{mlkem768: mlkem.EncapsulationKeySize768, mlkem1024: mlkem.EncapsulationKeySize1024} {
		key := make([]byte, size)
		m[set] = openKey{key, sha3.Sum256(key)}
	}
	return m
}()

// openSecret appends the secret of a ciphertext to our open key to dst.
//
// The ciphertext ends with 256 coefficients of v, each compressed to d_v bits, that is
// to round(2^d_v * v / q), packed from the lowest bit on. A 0 bit of m leaves v within 2
// of 0 and compresses to 0, a 1 bit leaves it within 2 of q/2 and compresses to half of
// 2^d_v. Like Decompress and Compress_1 of K-PKE.Decrypt, this takes what is nearer to
// the half: the bit is 1 when the coefficient is in its two middle quarters, so when
// its two highest bits differ.
//
// Then K is the first half of G(m || H(ek)) (algorithm 17). Decapsulation would also
// encrypt m again to see whether the ciphertext is honest; here a dishonest one shows
// when Finished does not verify.
func (k *kemKey) openSecret(dst, ciphertext []byte) []byte {
	bits := k.kem.bits()
	v := ciphertext[len(ciphertext)-256*bits/8:]
	var message [64]byte // m || H(ek)
	var window, have int
	for i := range 256 {
		if have < bits {
			window |= int(v[0]) << have
			v = v[1:]
			have += 8
		}
		high := window >> (bits - 2) & 3
		message[i/8] |= uint8(high>>1^high&1) << (i % 8)
		window >>= bits
		have -= bits
	}
	hash := openKeys[k.kem].hash
	copy(message[32:], hash[:])
	g := sha3.Sum512(message[:])
	return append(dst, g[:mlkem.SharedKeySize]...)
}
