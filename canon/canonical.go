package canon

import (
	"slices"
	"unicode/utf8"
)

// AppendCanonical appends v as json.dumps prints it with sort_keys=True,
// separators=(",", ":") and ensure_ascii=False, in UTF-8: members sorted by
// code point, strings escaped only where JSON demands it. A nil Value prints
// as null. The error is [ErrSurrogate], and then nothing is appended.
func AppendCanonical(dst []byte, v Value) ([]byte, error) {
	out, err := appendCanonical(dst, v)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func appendCanonical(dst []byte, v Value) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case Bool:
		return appendBool(dst, bool(v)), nil
	case Int:
		return append(dst, v...), nil
	case Float:
		return AppendFloat(dst, float64(v)), nil
	case String:
		return appendCanonicalString(dst, v)
	case Array:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendCanonical(dst, item); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case Object:
		if !slices.IsSortedFunc(v, byName) {
			v = slices.Clone(v)
			slices.SortStableFunc(v, byName)
		}
		dst = append(dst, '{')
		for i, m := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendCanonicalString(dst, m.Name); err != nil {
				return dst, err
			}
			dst = append(dst, ':')
			if dst, err = appendCanonical(dst, m.Value); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
	return append(dst, "null"...), nil
}

// appendCanonicalString appends the WTF-8 text s in quotes. A byte that is not
// WTF-8 prints as U+FFFD.
func appendCanonicalString[T ~string | ~[]byte](dst []byte, s T) ([]byte, error) {
	dst = append(dst, '"')
	first := len(dst)
	dst = append(dst, s...)
	plain := plainASCII(dst[first:])
	if plain == len(s) {
		return append(dst, '"'), nil
	}
	dst = dst[:first+plain]
	start := plain
	for i := start; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if stopByte(c) {
				dst = append(dst, s[start:i]...)
				dst = appendCanonicalEscape(dst, c)
				start = i + 1
			}
			i++
			continue
		}
		r, width := decodeRune(s[i:])
		if isSurrogate(r) {
			return dst, ErrSurrogate
		}
		if r == utf8.RuneError && width == 1 {
			dst = append(dst, s[start:i]...)
			dst = utf8.AppendRune(dst, r)
			start = i + 1
		}
		i += width
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), nil
}

// appendCanonicalEscape appends the escape of a quote, backslash or control
// character.
func appendCanonicalEscape(dst []byte, c byte) []byte {
	if short := shortEscape[c]; short != 0 {
		return append(dst, '\\', short)
	}
	return appendEscape(dst, rune(c))
}

// appendCanonicalRaw appends, in quotes, the canonical form of a checked
// string that is given as it stands in the document, without its quotes.
func appendCanonicalRaw(dst, s []byte) ([]byte, error) {
	dst = append(dst, '"')
	for {
		n := plainRun(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return append(dst, '"'), nil
		}
		for s = s[n:]; len(s) > 0 && s[0] == '\\'; {
			r, width := unescape(s)
			switch {
			case r < utf8.RuneSelf && stopByte(byte(r)):
				dst = appendCanonicalEscape(dst, byte(r))
			case isSurrogate(r):
				return dst, ErrSurrogate
			default:
				dst = utf8.AppendRune(dst, r)
			}
			s = s[width:]
		}
	}
}
