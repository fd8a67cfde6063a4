package topology

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Bytes is a number of bytes. In text it is a Kubernetes quantity: digits with an optional fraction and one of the
// suffixes Ki Mi Gi Ti Pi Ei (powers of 1024), k M G T P E (powers of 1000), or an exponent (2e9).
type Bytes int64

// The binary units.
const (
	Ki Bytes = 1 << (10 * (iota + 1))
	Mi
	Gi
	Ti
)

var errQuantity = errors.New(`must be a size such as "4Gi"`)

// binarySuffixes and decimalSuffixes are indexed by the power of 1024 or 1000.
const (
	binarySuffixes  = "KMGTPE"
	decimalSuffixes = "kMGTPE"
)

// ParseBytes reads a quantity. Sizes that are no whole number of bytes or do not fit are errors.
func ParseBytes(s string) (Bytes, error) {
	digits := strings.TrimLeft(s, "+-")
	end := strings.IndexFunc(digits, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(digits)
	}
	number, suffix := digits[:end], digits[end:]
	if len(s)-len(digits) > 1 || len(number) > 40 || strings.Trim(number, ".") == "" || strings.Count(number, ".") > 1 {
		return 0, errQuantity
	}
	value, ok := new(big.Rat).SetString(s[:len(s)-len(suffix)])
	if !ok {
		return 0, errQuantity
	}
	factor, ok := scale(suffix)
	if !ok {
		return 0, errQuantity
	}
	value.Mul(value, factor)
	switch {
	case !value.IsInt():
		return 0, errors.New("must be a whole number of bytes")
	case !value.Num().IsInt64():
		return 0, errors.New("is too large")
	}
	return Bytes(value.Num().Int64()), nil
}

// scale is what a quantity's suffix multiplies by.
func scale(suffix string) (*big.Rat, bool) {
	power := func(base, exponent int64) *big.Rat {
		return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil))
	}
	switch {
	case suffix == "":
		return power(1, 0), true
	case len(suffix) == 1 && strings.Contains(decimalSuffixes, suffix):
		return power(1000, int64(strings.Index(decimalSuffixes, suffix)+1)), true
	case len(suffix) == 2 && suffix[1] == 'i' && strings.IndexByte(binarySuffixes, suffix[0]) >= 0:
		return power(1024, int64(strings.IndexByte(binarySuffixes, suffix[0])+1)), true
	case suffix[0] == 'e' || suffix[0] == 'E':
		exponent, err := strconv.ParseInt(suffix[1:], 10, 8)
		if err != nil || exponent < -18 || exponent > 18 {
			return nil, false
		}
		if exponent < 0 {
			return new(big.Rat).Inv(power(10, -exponent)), true
		}
		return power(10, exponent), true
	}
	return nil, false
}

// String is the canonical form: the largest binary suffix that leaves a whole number.
func (b Bytes) String() string {
	suffix := -1
	for b != 0 && b%1024 == 0 && suffix+1 < len(binarySuffixes) {
		b /= 1024
		suffix++
	}
	number := strconv.FormatInt(int64(b), 10)
	if suffix < 0 {
		return number
	}
	return number + binarySuffixes[suffix:suffix+1] + "i"
}

// MarshalText writes the canonical form.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads what [ParseBytes] reads.
func (b *Bytes) UnmarshalText(text []byte) error {
	value, err := ParseBytes(string(text))
	if err != nil {
		return err
	}
	*b = value
	return nil
}

// MiB is the size in whole mebibytes, rounded down, as vSphere counts memory. It saturates at the largest int32, which
// no VM reaches.
func (b Bytes) MiB() int32 { return int32(min(b/Mi, math.MaxInt32)) }
