package engine

import "unicode/utf8"

// characters counts code points as Python does: a lone surrogate, which is
// three bytes that are not UTF-8, is one.
func characters(text string) (n int) {
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			n++
		}
	}
	return n
}

// firstCharacters returns at most n characters of text.
func firstCharacters(text string, n int) string {
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			if n == 0 {
				return text[:i]
			}
			n--
		}
	}
	return text
}
