package canon

import (
	"bytes"
	"math"
	"strconv"
)

// AppendFloat appends f as Python's repr prints it: the shortest digits that
// read back as f, with an exponent below 1e-4 and from 1e16 on. The values
// that are not finite are NaN, Infinity and -Infinity, as json.dumps has them.
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case f != f:
		return append(dst, "NaN"...)
	case f > math.MaxFloat64:
		return append(dst, "Infinity"...)
	case f < -math.MaxFloat64:
		return append(dst, "-Infinity"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, '.', '0')
	}
	return dst
}

// parseFloat reads the text of a float, which has been checked. Too large is
// an infinity, too small is zero.
func parseFloat(text []byte) float64 {
	if len(text) > maxFloatText {
		text = shortenFloat(text)
	}
	// The only possible error is a range error, whose value is the one wanted.
	f, _ := strconv.ParseFloat(string(text), 64)
	return f
}

// maxFloatText is the longest text that is given to strconv as it is. strconv
// stops counting the exponent somewhere above 10000, which is no matter as
// long as the digits cannot bring such a number back into range.
const maxFloatText = 1000

// maxFloatDigits is how many digits decide which float a number is: at most
// 767 for a double, and one more that says whether anything follows.
const maxFloatDigits = 780

// shortenFloat returns a text of bounded length that denotes the same float.
func shortenFloat(text []byte) []byte {
	short := make([]byte, 0, maxFloatDigits+32)
	if text[0] == '-' {
		short = append(short, '-')
		text = text[1:]
	}
	var (
		point    int64 // how far the decimal point is behind the place before the first digit that counts
		digits   int   // how many digits count, that is, from the first that is not 0
		fraction bool  // the decimal point has been passed
		sticky   bool  // a digit other than 0 was left out
		i        int
	)
	short = append(short, '0', '.')
	for ; i < len(text) && text[i]|0x20 != 'e'; i++ {
		c := text[i]
		if c == '.' {
			fraction = true
			continue
		}
		if digits == 0 && c == '0' {
			if fraction {
				point--
			}
			continue
		}
		if !fraction {
			point++
		}
		switch {
		case digits < maxFloatDigits:
			short = append(short, c)
		case c != '0':
			sticky = true
		}
		digits++
	}
	if digits == 0 {
		return append(short, '0')
	}
	if sticky {
		short = append(short, '1')
	}
	exponent := point
	if i < len(text) {
		exponent += parseExponent(text[i+1:])
	}
	short = append(short, 'e')
	return strconv.AppendInt(short, exponent, 10)
}

// parseExponent reads the signed digits of an exponent. One that is out of the
// reach of any document's digits stays so, without overflow.
func parseExponent(text []byte) int64 {
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	n := int64(0)
	for _, c := range text {
		if n < 1<<40 {
			n = n*10 + int64(c-'0')
		}
	}
	if negative {
		n = -n
	}
	return n
}
