package canon

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func repeat(s string) string { return strings.Repeat(s, hostileSize/len(s)) }

// members is an object of hostileSize with the names that name appends.
func members(name func(dst []byte, i int) []byte) string {
	text := []byte("{")
	for i := 0; len(text) < hostileSize; i++ {
		text = append(text, '"')
		text = name(text, i)
		text = append(text, `":1,`...)
	}
	return string(append(text, `"":0}`...))
}

// number appends n as seven digits.
func number(dst []byte, n int) []byte {
	return append(dst, strconv.Itoa(10_000_000 + n%10_000_000)[1:]...)
}

// hostileTests are large texts on which quadratic code takes for ever.
var hostileTests = map[string]struct {
	text func() string
	err  error
}{
	"deep arrays":     {func() string { return repeat("[") }, ErrInvalid},
	"deep objects":    {func() string { return repeat(`{"a":`) }, ErrInvalid},
	"wide":            {func() string { return "[" + repeat("[],") + "0]" }, nil},
	"int digits":      {func() string { return repeat("1234567890") }, ErrInvalid},
	"float digits":    {func() string { return repeat("1234567890") + ".5" }, nil},
	"fraction digits": {func() string { return "0." + repeat("1234567890") }, nil},
	"many zeros":      {func() string { return "0." + repeat("0") + "1e" + strconv.Itoa(hostileSize+1) }, nil},
	"exponent digits": {func() string { return "1e" + repeat("9") }, nil},
	"exponent zeros":  {func() string { return "1e-" + repeat("0") + "5" }, nil},
	"floats":          {func() string { return "[" + repeat("1234.5678e-30,") + "0]" }, nil},
	"long floats":     {func() string { return "[" + repeat(strings.Repeat("9", 5000)+".5,") + "0]" }, nil},
	"string":          {func() string { return `"` + repeat("x") + `"` }, nil},
	"string unended":  {func() string { return `"` + repeat("x") }, ErrInvalid},
	"escapes":         {func() string { return `"` + repeat(`\u00e9\n`) + `"` }, nil},
	"surrogates":      {func() string { return `"` + repeat(`\ud83d`) + `"` }, ErrSurrogate},
	"quotes":          {func() string { return `"` + repeat(`\"`) + `"` }, nil},
	"not ASCII":       {func() string { return `"` + repeat("é你😀") + `"` }, nil},
	"not UTF-8":       {func() string { return `"` + repeat("x") + "\xff\"" }, ErrInvalid},
	"white space":     {func() string { return repeat(" \n") }, ErrInvalid},
	"objects":         {func() string { return "[" + repeat(`{"b":{"c":{}},"a":1},`) + "0]" }, nil},
	"distinct members": {func() string {
		return members(func(dst []byte, i int) []byte { return number(dst, i*7919) })
	}, nil},
	"descending members": {func() string {
		return members(func(dst []byte, i int) []byte { return number(dst, 9_999_999-i) })
	}, nil},
	"duplicate members": {func() string {
		return members(func(dst []byte, i int) []byte { return append(dst, 'a') })
	}, nil},
	"escaped members": {func() string {
		return members(func(dst []byte, i int) []byte { return append(dst, `\u0061`+strconv.Itoa(i%3)...) })
	}, nil},
	"common prefix": {func() string {
		prefix := strings.Repeat("p", 1000)
		return members(func(dst []byte, i int) []byte { return number(append(dst, prefix...), i*7919) })
	}, nil},
}

func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("many texts of 10 MB; run without -short")
	}
	for name, tc := range hostileTests {
		t.Run(name, func(t *testing.T) {
			raw := []byte(tc.text())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := Fingerprint(raw, "")
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			used := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(raw))
			t.Logf("%v, %.1f bytes of memory per byte", took, used)
			if _, ok := err.(*SyntaxError); err != tc.err && !(ok && tc.err == ErrInvalid) {
				t.Errorf("Fingerprint: %v, want %v", err, tc.err)
			}
			// A node takes 12 bytes, a byte of text makes at most one, and the
			// slice that holds them grows by copying.
			if used > 60 {
				t.Errorf("Fingerprint allocated %.1f bytes per byte", used)
			}
		})
	}
}

func TestHostileValues(t *testing.T) {
	if testing.Short() {
		t.Skip("texts of 10 MB; run without -short")
	}
	for name, want := range map[string]Value{
		"float digits":    Float(math.Inf(1)),
		"fraction digits": Float(0.12345678901234568),
		"many zeros":      Float(1),
		"exponent digits": Float(math.Inf(1)),
		"exponent zeros":  Float(1e-5),
	} {
		if v, err := Parse([]byte(hostileTests[name].text())); err != nil || v != want {
			t.Errorf("%s: %v, %v, want %v", name, v, err, want)
		}
	}
	text := hostileTests["distinct members"].text()
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := v.(Object)
	if want := strings.Count(text, ":"); len(o) != want || o[1].Name != "0007919" || o[len(o)-1].Name != "" {
		t.Errorf("%d distinct members from %q to %q, want %d", len(o), o[1].Name, o[len(o)-1].Name, want)
	}
	v, err = Parse([]byte(hostileTests["duplicate members"].text()))
	if want := `{"a": 1, "": 0}`; err != nil || string(AppendWire(nil, v)) != want {
		t.Errorf("duplicate members: %v, want %s", err, want)
	}
}
