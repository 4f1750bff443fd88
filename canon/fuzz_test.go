package canon

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func addSeeds(add func(raw []byte)) {
	for _, tc := range wireTests {
		add([]byte(tc.raw))
	}
	for _, tc := range invalidTests {
		add([]byte(tc.raw))
	}
	add([]byte(smallBody))
	add(chatBody(2000))
	add([]byte(strings.Repeat("[", 20) + strings.Repeat("]", 20)))
	add([]byte(`{"q":1,"w":2,"e":3,"r":4,"t":5,"z":6,"u":7,"i":8,"o":9,"p":10,"a":11,"s":12,"d":13,"f":14,"g":15,"h":16,"j":17,"q":18}`))
	add([]byte(`[0.` + strings.Repeat("0", 1100) + `1e1101]`))
}

// FuzzParse checks that what is accepted is what encoding/json accepts, but
// for the stated differences, and that it prints as it was read.
func FuzzParse(f *testing.F) {
	addSeeds(func(raw []byte) { f.Add(raw) })
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := Parse(raw)
		standard := json.Valid(raw) && utf8.Valid(raw)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(raw) {
				t.Fatalf("Parse: %#v is no *SyntaxError with an offset in the text", err)
			}
			if standard && !strings.Contains(syntax.Msg, "4300") && !strings.Contains(syntax.Msg, "nested") {
				t.Fatalf("Parse: %v, but encoding/json accepts it", err)
			}
			if (new(Document)).Parse(raw) == nil {
				t.Fatalf("Parse: %v, but Document.Parse accepts it", err)
			}
			return
		}
		if !standard && !bytes.Contains(raw, []byte("NaN")) && !bytes.Contains(raw, []byte("Infinity")) {
			t.Fatalf("Parse accepts what is no JSON: %.200s", AppendWire(nil, v))
		}
		checkDocument(t, raw, v)
		wire := AppendWire(nil, v)
		again, err := Parse(wire)
		if err != nil || !bytes.Equal(AppendWire(nil, again), wire) {
			t.Fatalf("%s does not print as it was read: %s, %v", wire, AppendWire(nil, again), err)
		}
		canonical, err := AppendCanonical(nil, v)
		if err != nil {
			return
		}
		sorted, err := Parse(canonical)
		if err != nil || !bytes.Equal(AppendWire(nil, sorted), AppendWire(nil, Sorted(v))) {
			t.Fatalf("the canonical form %s is not what Sorted has, %s, %v", canonical, AppendWire(nil, Sorted(v)), err)
		}
	})
}

// FuzzFingerprint checks the fingerprint of a Document against the canonical
// form of the Value, and that spelling does not matter.
func FuzzFingerprint(f *testing.F) {
	for _, key := range []string{"", "session", "a\"\\\n\x00é😀", "\xff", "\xed\xa0\x80"} {
		addSeeds(func(raw []byte) { f.Add(raw, key) })
	}
	f.Fuzz(func(t *testing.T, raw []byte, key string) {
		sum, err := Fingerprint(raw, key)
		v, parseErr := Parse(raw)
		if parseErr != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("Fingerprint: %v, Parse: %v", err, parseErr)
			}
			return
		}
		request := Object{{"gateway_session_key", String(key)}, {"body", v}}
		text, textErr := AppendCanonical(nil, request)
		if err != textErr || err == nil && sum != sha256.Sum256(text) {
			t.Fatalf("Fingerprint: %x, %v; the canonical form is %s, %v", sum, err, text, textErr)
		}
		if wireSum, wireErr := Fingerprint(AppendWire(nil, v), key); wireSum != sum || wireErr != err {
			t.Fatalf("the wire form has fingerprint %x, %v, not %x, %v", wireSum, wireErr, sum, err)
		}
	})
}
