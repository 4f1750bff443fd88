package canon

import "strings"

// Strip removes white space from both ends of s as Python's str.strip() does.
// Bytes that are not UTF-8 are not white space.
func Strip(s string) string { return strings.TrimFunc(s, isSpace) }

// isSpace is Python's str.isspace(): unlike unicode.IsSpace it has the four
// separators from U+001C.
func isSpace(r rune) bool {
	switch {
	case r <= 0x20:
		return r == ' ' || r >= '\t' && r <= '\r' || r >= 0x1c
	case r >= 0x2000 && r <= 0x200a:
		return true
	}
	switch r {
	case 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000:
		return true
	}
	return false
}
