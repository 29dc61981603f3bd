package envelope

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// base58Digits are the digits of base58btc.
const base58Digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// base58Encode returns b in base58btc. Each leading zero byte becomes a "1".
func base58Encode(b []byte) string {
	var digits []byte
	base, digit := big.NewInt(58), new(big.Int)
	for n := new(big.Int).SetBytes(b); n.Sign() > 0; {
		n.DivMod(n, base, digit)
		digits = append(digits, base58Digits[digit.Int64()])
	}
	slices.Reverse(digits)
	zeros := len(b) - len(bytes.TrimLeft(b, "\x00"))
	return strings.Repeat("1", zeros) + string(digits)
}

// base58Decode returns the bytes of a text in base58btc.
func base58Decode(text string) ([]byte, error) {
	n, base := new(big.Int), big.NewInt(58)
	for i := range len(text) {
		digit := strings.IndexByte(base58Digits, text[i])
		if digit < 0 {
			return nil, fmt.Errorf("byte %d is not a base58btc digit", i)
		}
		n.Add(n.Mul(n, base), big.NewInt(int64(digit)))
	}
	zeros := len(text) - len(strings.TrimLeft(text, "1"))
	return append(make([]byte, zeros), n.Bytes()...), nil
}
