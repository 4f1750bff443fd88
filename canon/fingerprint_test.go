package canon

import (
	"crypto/sha256"
	"strings"
	"sync"
	"testing"
)

func TestFingerprint(t *testing.T) {
	large := strings.Repeat("a text that is its own canonical form; ", 1000)
	tests := []struct{ raw, key, canonical string }{
		{`{"input": "x", "a": 1.0}`, "", `{"body":{"a":1.0,"input":"x"},"gateway_session_key":""}`},
		{` null `, "k", `{"body":null,"gateway_session_key":"k"}`},
		{`[]`, "a\"b\\c\n\x00/é😀\x7f", `{"body":[],"gateway_session_key":"a\"b\\c\n\u0000/é😀` + "\x7f" + `"}`},
		{`[]`, "\xff\xc0", `{"body":[],"gateway_session_key":"` + "\ufffd\ufffd" + `"}`},
		// Texts around the size from which on they are hashed in place.
		{`["` + large + `",1]`, "", `{"body":["` + large + `",1],"gateway_session_key":""}`},
		{`{"` + large + `":1,"a":"` + large + `"}`, "", `{"body":{"a":"` + large + `","` + large + `":1},"gateway_session_key":""}`},
		{`"` + large + `\u00e9"`, "", `{"body":"` + large + `é","gateway_session_key":""}`},
		{`[` + strings.Repeat(`12345, `, 5000) + `0]`, "", `{"body":[` + strings.Repeat(`12345,`, 5000) + `0],"gateway_session_key":""}`},
	}
	for n := flushSize - 3; n < flushSize+2; n++ {
		s := large[:n]
		tests = append(tests, struct{ raw, key, canonical string }{`[1,"` + s + `"]`, "", `{"body":[1,"` + s + `"],"gateway_session_key":""}`})
	}
	for _, tc := range tests {
		sum, err := Fingerprint([]byte(tc.raw), tc.key)
		if want := sha256.Sum256([]byte(tc.canonical)); err != nil || sum != want {
			t.Errorf("Fingerprint(%.80q, %q) = %x, %v, want the hash of %.80q, %x", tc.raw, tc.key, sum, err, tc.canonical, want)
		}
	}
}

// The session key, too, has to be encoded.
func TestFingerprintKeySurrogate(t *testing.T) {
	if _, err := Fingerprint([]byte(`{}`), "a\xed\xa0\x80"); err != ErrSurrogate {
		t.Errorf("Fingerprint: %v, want ErrSurrogate", err)
	}
}

// What fails leaves nothing behind that the next fingerprint could contain.
func TestFingerprintAfterError(t *testing.T) {
	const raw = `{"b":{"c":1},"a":[2]}`
	want, err := Fingerprint([]byte(raw), "")
	if err != nil {
		t.Fatal(err)
	}
	var d Document
	for _, bad := range []string{`{"b":{"z":"\ud800","a":1},"a":"x"}`, `["` + strings.Repeat("x", 2*flushSize) + `","\ud800"]`, `{"a":[{"b":`} {
		if err := d.Parse([]byte(bad)); err == nil {
			if _, err := d.Fingerprint(""); err != ErrSurrogate {
				t.Errorf("Fingerprint(%.40s): %v, want ErrSurrogate", bad, err)
			}
		}
		if err := d.Parse([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Fingerprint(""); got != want || err != nil {
			t.Errorf("after %.40s the fingerprint of %s is %x, %v, want %x", bad, raw, got, err, want)
		}
	}
}

func TestFingerprintConcurrent(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			raw := []byte(`{"b":"` + strings.Repeat("x", i*3000) + `","a":[1.5,{"\u0061":2}]}`)
			canonical := `{"body":{"a":[1.5,{"a":2}],"b":"` + strings.Repeat("x", i*3000) + `"},"gateway_session_key":"k"}`
			for range 50 {
				if sum, err := Fingerprint(raw, "k"); err != nil || sum != sha256.Sum256([]byte(canonical)) {
					t.Errorf("Fingerprint(%.40s) = %x, %v", raw, sum, err)
				}
			}
		})
	}
	group.Wait()
}

func TestAllocations(t *testing.T) {
	var many strings.Builder
	for i := range 100 {
		many.WriteString(`,"` + strings.Repeat("n", i%13) + string(rune('a'+i%26)) + `":0.25`)
	}
	for name, raw := range map[string][]byte{
		"small":   []byte(smallBody),
		"chat":    chatBody(64 << 10),
		"escapes": []byte(`{"\u0061":"\u00e9\ud83d\ude00","b":[1,2.5,-0.0,1e300,true,null]}`),
		"members": []byte(`{"x":1` + many.String() + `}`),
	} {
		var d Document
		allocs := testing.AllocsPerRun(20, func() {
			if err := d.Parse(raw); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Fingerprint("session-key"); err != nil {
				t.Fatal(err)
			}
			if n, ok := d.Root().Member("input"); ok && !n.True() {
				t.Fatal("input is false")
			}
		})
		if allocs != 0 {
			t.Errorf("%s: Parse and Fingerprint allocate %v times", name, allocs)
		}
	}
}
