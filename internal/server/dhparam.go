package server

import (
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
)

// dhFile writes the parameters for the spec's DHBits and returns their file.
func (m *material) dhFile() (string, error) {
	p, err := dhPrime(m.spec.DHBits)
	if err != nil {
		return "", err
	}
	der, err := asn1.Marshal(struct{ P, G *big.Int }{p, big.NewInt(2)})
	if err != nil {
		return "", err
	}
	file := filepath.Join(m.dir, "dh.pem")
	return file, writePrivate(file, pem.EncodeToMemory(&pem.Block{Type: "DH PARAMETERS", Bytes: der}))
}

// joinFiles writes the contents of others, one after another, to file and
// returns its name.
func joinFiles(file string, others ...string) (string, error) {
	var all []byte
	for _, other := range others {
		text, err := os.ReadFile(other)
		if err != nil {
			return "", err
		}
		all = append(all, text...)
	}
	return file, writePrivate(file, all)
}

// dhPrime returns a safe prime of that many bits: of RFC 7919, appendix A, or
// for 1024 bits that of RFC 2409, section 6.2 (Oakley group 2). Their generator
// is 2.
func dhPrime(bits int) (*big.Int, error) {
	if bits == 1024 {
		p, _ := new(big.Int).SetString(""+
			"FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74"+
			"020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F1437"+
			"4FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"+
			"EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)
		return p, nil
	}
	offset, ok := map[int]int64{2048: 560316, 3072: 2625351, 4096: 5736041, 6144: 15705020, 8192: 10965728}[bits]
	if !ok {
		return nil, fmt.Errorf("no group of RFC 7919 has %d bits", bits)
	}
	// p = 2^b - 2^(b-64) + ([2^(b-130) e] + X) 2^64 - 1
	power := func(n int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(n)) }
	p := eTimes(power(bits - 130))
	p.Add(p, big.NewInt(offset))
	p.Lsh(p, 64)
	p.Add(p, power(bits))
	p.Sub(p, power(bits-64))
	return p.Sub(p, big.NewInt(1)), nil
}

// eTimes returns the integer part of n times e, by e = 1/0! + 1/1! + 1/2! + ...
// with 64 bits more than are wanted.
func eTimes(n *big.Int) *big.Int {
	term := new(big.Int).Lsh(n, 64)
	sum := new(big.Int)
	for k := int64(1); term.Sign() > 0; k++ {
		sum.Add(sum, term)
		term.Div(term, big.NewInt(k))
	}
	return sum.Rsh(sum, 64)
}
