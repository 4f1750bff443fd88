package canon

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// stops has the high bit set in each ASCII byte of x that ends a plain run of
// a JSON string: a quote, a backslash, a control character. Above the lowest
// such byte, in bytes from 0x80 on and in all other bits it has noise.
// Flipping bit 1 brings the quote, 0x22, next to the control characters and
// the space, 0x20, out of the way, so that one comparison finds them all.
func stops(x uint64) uint64 {
	low := (x ^ 0x02*lowBits) - 0x21*lowBits
	slash := (x ^ '\\'*lowBits) - lowBits
	return low | slash
}

// stopByte is stops for a single byte.
func stopByte(c byte) bool { return c < ' ' || c == '"' || c == '\\' }

// plainRun returns the length of the longest prefix of s without a quote,
// backslash or control character.
func plainRun(s []byte) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		if m := stops(x) &^ x & highBits; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(s) && !stopByte(s[i]) {
		i++
	}
	return i
}

// plainASCII returns the length of the longest prefix of s without a quote,
// backslash, control character or byte from 0x80 on.
func plainASCII(s []byte) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		if m := (stops(x) | x) & highBits; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(s) && !stopByte(s[i]) && s[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// printableRun returns the length of the longest prefix of s of printable ASCII
// without quotes and backslashes.
func printableRun(s string) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		del := (x ^ 0x7f*lowBits) - lowBits
		if m := (stops(x) | del | x) & highBits; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(s) && !stopByte(s[i]) && s[i] < 0x7f {
		i++
	}
	return i
}

// hexDigit maps a hexadecimal digit to its value and any other byte to 0xff.
var hexDigit = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i := range byte(10) {
		t['0'+i] = i
	}
	for i := range byte(6) {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return t
}()

// hex4 returns the value of four hexadecimal digits at the start of s, or -1.
func hex4(s []byte) rune {
	if len(s) < 4 {
		return -1
	}
	a, b, c, d := hexDigit[s[0]], hexDigit[s[1]], hexDigit[s[2]], hexDigit[s[3]]
	if (a|b|c|d)&0xf0 != 0 {
		return -1
	}
	return rune(a)<<12 | rune(b)<<8 | rune(c)<<4 | rune(d)
}

// simpleEscape maps the letter of a two-byte escape to what it stands for, and
// any other byte to 0.
var simpleEscape = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// shortEscape maps a byte to the letter of its two-byte escape in Python's
// output, and any other byte to 0.
var shortEscape = [256]byte{
	'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't',
}

const (
	surrogateMin    = 0xd800
	surrogateLowMin = 0xdc00
	surrogateMax    = 0xdfff
)

func isSurrogate(r rune) bool     { return surrogateMin <= r && r <= surrogateMax }
func isHighSurrogate(r rune) bool { return surrogateMin <= r && r < surrogateLowMin }
func isLowSurrogate(r rune) bool  { return surrogateLowMin <= r && r <= surrogateMax }

// unescape decodes the escape that s, part of a checked string, starts with.
// It returns the code point, which may be a surrogate, and the escape's length.
// A high surrogate directly followed by the escape of a low one is one code
// point.
func unescape(s []byte) (rune, int) {
	if s[1] != 'u' {
		return rune(simpleEscape[s[1]]), 2
	}
	r := hex4(s[2:])
	if isHighSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if low := hex4(s[8:]); isLowSurrogate(low) {
			return (r-surrogateMin)<<10 + (low - surrogateLowMin) + 0x10000, 12
		}
	}
	return r, 6
}

// appendRune appends r in UTF-8, a surrogate in its generalized form.
func appendRune(dst []byte, r rune) []byte {
	if isSurrogate(r) {
		return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(dst, r)
}

// appendDecoded appends the WTF-8 of a checked string, given without quotes.
func appendDecoded(dst, s []byte) []byte {
	for {
		n := plainRun(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return dst
		}
		r, width := unescape(s[n:])
		dst = appendRune(dst, r)
		s = s[n+width:]
	}
}

// decodeRune returns the first code point of s, which is not empty, and its
// length. A surrogate in its generalized form is one code point; a byte that
// is not WTF-8 is U+FFFD.
func decodeRune[T ~string | ~[]byte](s T) (rune, int) {
	if s[0] == 0xed && len(s) >= 3 && s[1]&0xe0 == 0xa0 && s[2]&0xc0 == 0x80 {
		return surrogateMin | rune(s[1]&0x1f)<<6 | rune(s[2]&0x3f), 3
	}
	return utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
}
