package handler

import (
	"unicode/utf8"

	"github.com/hermesfake/hermesfake/canon"
)

// piece is a text that may be too long to be shown whole.
type piece struct {
	Text  string `json:"text"`
	Bytes int    `json:"bytes,omitempty"` // of the whole, where Text is only its beginning; -1 if unknown
	JSON  bool   `json:"json,omitempty"`  // the text of a value that is no string
}

// brief returns the first bytes of a text, at most so many and no torn character.
func brief(text string, most int) piece {
	if len(text) <= most {
		return piece{Text: text}
	}
	end := most
	for end > 0 && most-end < utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return piece{Text: text[:end], Bytes: len(text)}
}

// briefValue returns the beginning of a value, of which not much more than that is printed.
func briefValue(v canon.Value, most int) piece {
	if text, ok := v.(canon.String); ok {
		return brief(string(text), most)
	}
	p := brief(string(appendBrief(nil, v, most)), most)
	p.JSON = true
	if p.Bytes > 0 {
		p.Bytes = -1
	}
	return p
}

func appendBrief(dst []byte, v canon.Value, most int) []byte {
	switch v := v.(type) {
	case canon.String:
		return canon.AppendWireString(dst, brief(string(v), most).Text)
	case canon.Array:
		dst = append(dst, '[')
		for i, item := range v {
			if len(dst) > most {
				break
			}
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendBrief(dst, item, most)
		}
		return append(dst, ']')
	case canon.Object:
		dst = append(dst, '{')
		for i, m := range v {
			if len(dst) > most {
				break
			}
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendBrief(dst, canon.String(m.Name), most), ": "...)
			dst = appendBrief(dst, m.Value, most)
		}
		return append(dst, '}')
	}
	return canon.AppendWire(dst, v)
}
