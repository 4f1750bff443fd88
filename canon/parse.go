package canon

import "unicode/utf8"

// parse fills d.nodes and d.names from d.raw. Open containers are linked
// through their nodes, so depth costs no stack.
func (d *Document) parse() *SyntaxError {
	var (
		raw    = d.raw
		nodes  = d.nodes
		i      = skipSpace(raw, 0)
		depth  = 0
		open   uint32 // the innermost open container, if depth > 0
		object bool   // there is one, and it is an object
	)
	for {
		if object {
			// A member is due at i.
			if i >= len(raw) || raw[i] != '"' {
				return syntaxError(i, "a member name in double quotes is expected")
			}
			end, flags := scanString(raw, i)
			if end < 0 {
				return stringError(raw, i)
			}
			name := node{start: uint32(i), end: uint32(end), kind: KindString}
			if flags&escaped != 0 {
				name.start, name.flags = uint32(len(d.names)), inNames
				d.names = appendDecoded(d.names, raw[i+1:end-1])
				name.end = uint32(len(d.names))
			}
			nodes = append(nodes, name)
			i = skipSpace(raw, end)
			if i >= len(raw) || raw[i] != ':' {
				return syntaxError(i, "a colon is expected")
			}
			i = skipSpace(raw, i+1)
		}

		// A value is due at i.
		if i >= len(raw) {
			return syntaxError(i, "the text ends where a value is expected")
		}
		switch c := raw[i]; c {
		case '"':
			end, flags := scanString(raw, i)
			if end < 0 {
				return stringError(raw, i)
			}
			nodes = append(nodes, node{start: uint32(i), end: uint32(end), kind: KindString, flags: flags})
			i = end
		case '{', '[':
			kind, closer := KindObject, byte('}')
			if c == '[' {
				kind, closer = KindArray, ']'
			}
			if depth == MaxDepth {
				return syntaxError(i, "arrays and objects are nested too deeply")
			}
			i = skipSpace(raw, i+1)
			if i < len(raw) && raw[i] == closer {
				nodes = append(nodes, node{end: uint32(len(nodes) + 1), kind: kind})
				i++
				break
			}
			nodes = append(nodes, node{end: open, kind: kind})
			open = uint32(len(nodes) - 1)
			object = kind == KindObject
			depth++
			continue
		default:
			n, ok := scanNumber(raw, i)
			if !ok {
				if n, ok = scanWord(raw, i); !ok {
					return numberError(raw, i)
				}
			}
			nodes = append(nodes, n)
			i = int(n.end)
		}

		// A value has ended before i: close what ends with it.
		for {
			i = skipSpace(raw, i)
			if depth == 0 {
				if i < len(raw) {
					return syntaxError(i, "there is something after the value")
				}
				d.nodes = nodes
				return nil
			}
			if i >= len(raw) {
				return syntaxError(i, "the text ends within an array or object")
			}
			n := &nodes[open]
			n.start++
			if raw[i] == ',' {
				i = skipSpace(raw, i+1)
				break
			}
			if object && raw[i] != '}' || !object && raw[i] != ']' {
				return syntaxError(i, "a comma or the end of the array or object is expected")
			}
			i++
			open, n.end = n.end, uint32(len(nodes))
			depth--
			object = depth > 0 && nodes[open].kind == KindObject
		}
	}
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && raw[i] <= ' ' && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\r' || raw[i] == '\t') {
		i++
	}
	return i
}

// scanString checks the string whose opening quote is at i. It returns the
// index behind the closing quote, -1 if it is not a string, and its flags.
func scanString(raw []byte, i int) (end int, flags uint8) {
	i++
	for {
		i += plainASCII(raw[i:])
		if i >= len(raw) {
			return -1, 0
		}
		switch c := raw[i]; {
		case c == '"':
			return i + 1, flags
		case c == '\\':
			flags |= escaped
			for i < len(raw) && raw[i] == '\\' {
				width, canonical := scanEscape(raw[i:])
				if width == 0 {
					return -1, 0
				}
				if !canonical {
					flags |= rewrite
				}
				i += width
			}
		case c < ' ':
			return -1, 0
		default:
			n := plainRun(raw[i:])
			if !utf8.Valid(raw[i : i+n]) {
				return -1, 0
			}
			i += n
		}
	}
}

// scanEscape returns the length of the escape at the start of s, 0 if it is
// none, and whether it is what the canonical form has for its character.
func scanEscape(s []byte) (width int, canonical bool) {
	if len(s) < 2 {
		return 0, false
	}
	if s[1] != 'u' {
		if simpleEscape[s[1]] == 0 {
			return 0, false
		}
		return 2, s[1] != '/'
	}
	r := hex4(s[2:])
	if r < 0 {
		return 0, false
	}
	upper := 'A' <= s[5] && s[5] <= 'F'
	return 6, r < ' ' && shortEscape[r] == 0 && !upper
}

// stringError says what is wrong with the string whose opening quote is at i.
func stringError(raw []byte, i int) *SyntaxError {
	for i++; i < len(raw); {
		if raw[i] < ' ' {
			return syntaxError(i, "a control character in a string must be escaped")
		}
		if raw[i] == '\\' {
			width, _ := scanEscape(raw[i:])
			if width == 0 {
				return syntaxError(i, "there is no such escape")
			}
			i += width
			continue
		}
		r, width := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && width == 1 {
			return syntaxError(i, "a string is not valid UTF-8")
		}
		i += width
	}
	return syntaxError(len(raw), "the text ends within a string")
}

// scanWord reads null, true, false, NaN, Infinity or -Infinity at i.
func scanWord(raw []byte, i int) (node, bool) {
	n := node{start: uint32(i)}
	word := ""
	switch raw[i] {
	case 'n':
		word, n.kind = "null", KindNull
	case 't':
		word, n.kind, n.flags = "true", KindBool, trueBool
	case 'f':
		word, n.kind = "false", KindBool
	case 'N':
		word, n.kind, n.flags = "NaN", KindFloat, rewrite
	case 'I':
		word, n.kind, n.flags = "Infinity", KindFloat, rewrite
	case '-':
		word, n.kind, n.flags = "-Infinity", KindFloat, rewrite
	default:
		return n, false
	}
	if len(raw)-i < len(word) || string(raw[i:i+len(word)]) != word {
		return n, false
	}
	n.end = n.start + uint32(len(word))
	return n, true
}

// scanNumber reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? at i. As in
// Python it stops where that does, and what follows is found to be in the
// wrong place.
func scanNumber(raw []byte, i int) (node, bool) {
	n := node{start: uint32(i), kind: KindInt}
	if raw[i] == '-' {
		i++
	}
	first := i
	i = skipDigits(raw, i)
	if i == first {
		return n, false
	}
	if raw[first] == '0' {
		i = first + 1
	}
	digits := i - first
	if i+1 < len(raw) && raw[i] == '.' && isDigit(raw[i+1]) {
		n.kind = KindFloat
		i = skipDigits(raw, i+1)
	}
	if i < len(raw) && raw[i]|0x20 == 'e' {
		exponent := i + 1
		if exponent < len(raw) && (raw[exponent] == '+' || raw[exponent] == '-') {
			exponent++
		}
		if end := skipDigits(raw, exponent); end > exponent {
			n.kind = KindFloat
			i = end
		}
	}
	n.end = uint32(i)
	if n.kind == KindFloat {
		n.flags = rewrite
		return n, true
	}
	if raw[first] == '0' {
		n.start = uint32(first) // an int has no negative zero
	}
	return n, digits <= maxIntDigits
}

// numberError says why there is neither a number nor a word at i.
func numberError(raw []byte, i int) *SyntaxError {
	if isDigit(raw[i]) || raw[i] == '-' && i+1 < len(raw) && isDigit(raw[i+1]) {
		return syntaxError(i, "an integer has more than 4300 digits")
	}
	return syntaxError(i, "a value is expected")
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func skipDigits(raw []byte, i int) int {
	for i < len(raw) && isDigit(raw[i]) {
		i++
	}
	return i
}
