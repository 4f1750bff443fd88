package canon

import "unicode/utf8"

const lowerHex = "0123456789abcdef"

// AppendWire appends v as json.dumps prints it by default: members in their
// order, ", " and ": " between them, everything outside of printable ASCII
// escaped. A nil Value prints as null.
func AppendWire(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case Bool:
		return appendBool(dst, bool(v))
	case Int:
		return append(dst, v...)
	case Float:
		return AppendFloat(dst, float64(v))
	case String:
		return AppendWireString(dst, string(v))
	case Array:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendWire(dst, item)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendWireString(dst, m.Name)
			dst = append(dst, ": "...)
			dst = AppendWire(dst, m.Value)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// AppendWireString appends s in quotes as json.dumps prints a str by default:
// what is not printable ASCII, U+007F included, as \uxxxx, code points above
// U+FFFF as a surrogate pair, lone surrogates as they are. Bytes that are not
// WTF-8 print as \ufffd.
func AppendWireString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for {
		n := printableRun(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return append(dst, '"')
		}
		s = s[n:]
		c := s[0]
		switch {
		case shortEscape[c] != 0:
			dst = append(dst, '\\', shortEscape[c])
			s = s[1:]
		case c < utf8.RuneSelf:
			dst = appendEscape(dst, rune(c))
			s = s[1:]
		default:
			r, width := decodeRune(s)
			if r >= 0x10000 {
				r -= 0x10000
				dst = appendEscape(dst, surrogateMin+r>>10)
				r = surrogateLowMin + r&0x3ff
			}
			dst = appendEscape(dst, r)
			s = s[width:]
		}
	}
}

func appendEscape(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', lowerHex[r>>12&0xf], lowerHex[r>>8&0xf], lowerHex[r>>4&0xf], lowerHex[r&0xf])
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}
