package canon

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// What json.dumps prints of what json.loads read.
var wireTests = []struct{ raw, wire string }{
	{`null`, `null`},
	{" \t\r\n true \n", `true`},
	{`false`, `false`},
	{`{"b":1,"a":[2,{}],"c":[]}`, `{"b": 1, "a": [2, {}], "c": []}`},

	// Integers.
	{`0`, `0`},
	{`-0`, `0`},
	{`[-0,-1,1]`, `[0, -1, 1]`},
	{`9007199254740993`, `9007199254740993`},
	{`-123456789012345678901234567890`, `-123456789012345678901234567890`},

	// Floats.
	{`0.0`, `0.0`},
	{`-0.0`, `-0.0`},
	{`-0e5`, `-0.0`},
	{`1.0`, `1.0`},
	{`1E0`, `1.0`},
	{`10e-1`, `1.0`},
	{`1e22`, `1e+22`},
	{`1e-7`, `1e-07`},
	{`0.0001`, `0.0001`},
	{`0.00001`, `1e-05`},
	{`1e16`, `1e+16`},
	{`9999999999999998.0`, `9999999999999998.0`},
	{`123456789012345680.0`, `1.2345678901234568e+17`},
	{`1700000000.0`, `1700000000.0`},
	{`0.1000000000000000055511151231257827`, `0.1`},
	{`5e-324`, `5e-324`},
	{`2e-324`, `0.0`},
	{`1e400`, `Infinity`},
	{`-1e400`, `-Infinity`},
	{`1.7976931348623159e308`, `Infinity`},
	{`[NaN,Infinity,-Infinity]`, `[NaN, Infinity, -Infinity]`},

	// Strings.
	{`""`, `""`},
	{`"\"\\\/\b\f\n\r\t"`, `"\"\\/\b\f\n\r\t"`},
	{`"\u0000\u001F\u0041\u00e9"`, `"\u0000\u001fA\u00e9"`},
	{"\"\x7f\"", `"\u007f"`},
	{`"é 你 😀"`, `"\u00e9 \u4f60 \ud83d\ude00"`},
	{"\"\u2028\uffff\U0010ffff\"", `"\u2028\uffff\udbff\udfff"`},
	{`"\ud83d\ude00"`, `"\ud83d\ude00"`},
	{`"\ud83d\ud83d\ude00"`, `"\ud83d\ud83d\ude00"`},
	{`"\ude00\ud83d"`, `"\ude00\ud83d"`},
	{`"\ud83d\u0041"`, `"\ud83dA"`},
	{`"\uD83D x \uDE00"`, `"\ud83d x \ude00"`},
	{`"\ud83d\\ude00"`, `"\ud83d\\ude00"`},

	// Duplicate members: the last value at the first one's place.
	{`{"a":1,"b":2,"a":3}`, `{"a": 3, "b": 2}`},
	{`{"a":1,"\u0061":2}`, `{"a": 2}`},
	{`{"😀":1,"\ud83d\ude00":2}`, `{"\ud83d\ude00": 2}`},
	{`[{"x":{"k":1,"k":{"k":2,"k":3}}}]`, `[{"x": {"k": {"k": 3}}}]`},
	{`{"":1,"":2}`, `{"": 2}`},
}

func TestWire(t *testing.T) {
	for _, tc := range wireTests {
		v, err := Parse([]byte(tc.raw))
		if err != nil {
			t.Errorf("Parse(%q): %v", tc.raw, err)
			continue
		}
		if got := string(AppendWire([]byte("> "), v)); got != "> "+tc.wire {
			t.Errorf("Parse(%q) prints %s, want > %s", tc.raw, got, tc.wire)
		}
	}
}

func TestWireString(t *testing.T) {
	tests := []struct{ s, wire string }{
		{"", `""`},
		{"plain text that is longer than a word", `"plain text that is longer than a word"`},
		{"a\xffb", `"a\ufffdb"`},
		{"\xc3", `"\ufffd"`},
		{"\xc0\xaf", `"\ufffd\ufffd"`},
		{"\xed\xa0\xbd", `"\ud83d"`},
		{"\xed\xa0\xbd\xed\xb8\x80", `"\ud83d\ude00"`},
		{"\xed\xa0", `"\ufffd\ufffd"`},
		{"\xf4\x90\x80\x80", `"\ufffd\ufffd\ufffd\ufffd"`},
		{"\ufffd", `"\ufffd"`},
	}
	for _, tc := range tests {
		if got := string(AppendWireString(nil, tc.s)); got != tc.wire {
			t.Errorf("AppendWireString(%q) = %s, want %s", tc.s, got, tc.wire)
		}
	}
}

func TestWireNil(t *testing.T) {
	if got := string(AppendWire(nil, nil)); got != "null" {
		t.Errorf("AppendWire(nil) = %s, want null", got)
	}
	if got, err := AppendCanonical(nil, nil); err != nil || string(got) != "null" {
		t.Errorf("AppendCanonical(nil) = %s, %v, want null", got, err)
	}
}

var invalidTests = []struct {
	raw    string
	offset int
}{
	{"", 0},
	{"   ", 3},
	{"\ufeff{}", 0},
	{"\ufeff", 0},
	{" \ufeff1", 1},
	{"\xef\xbb\xbf1", 0},
	{"\x0b1", 0},
	{"\x0c1", 0},
	{"1\u00a0", 1},
	{"1 2", 2},
	{"{} {}", 3},
	{"{}//", 2},
	{"/**/1", 0},
	{`'a'`, 0},
	{`{'a':1}`, 1},
	{`{a:1}`, 1},
	{`{1:1}`, 1},
	{`{"a"}`, 4},
	{`{"a":}`, 5},
	{`{"a":1,}`, 7},
	{`{"a":1 "b":2}`, 7},
	{`{"a":1]`, 6},
	{`{,}`, 1},
	{`{`, 1},
	{`{"a":1`, 6},
	{`{"a":1,`, 7},
	{`{"a"`, 4},
	{`[`, 1},
	{`[1`, 2},
	{`[1,`, 3},
	{`[1,]`, 3},
	{`[,1]`, 1},
	{`[1 2]`, 3},
	{`[1}`, 2},
	{`]`, 0},
	{`}`, 0},

	// Words.
	{`nul`, 0},
	{`nulL`, 0},
	{`True`, 0},
	{`nan`, 0},
	{`-NaN`, 0},
	{`+NaN`, 0},
	{`-`, 0},
	{`-I`, 0},
	{`-infinity`, 0},
	{`+Infinity`, 0},
	{`Infinityx`, 8},
	{`Inf`, 0},

	// Numbers.
	{`01`, 1},
	{`-01`, 2},
	{`.5`, 0},
	{`1.`, 1},
	{`1.e5`, 1},
	{`+1`, 0},
	{`--1`, 0},
	{`0x10`, 1},
	{`1e`, 1},
	{`1e+`, 1},
	{`1.5e-`, 3},
	{`1_000`, 1},
	{"\u0661", 0}, // a digit, but not an ASCII one

	// Strings.
	{`"`, 1},
	{`"abc`, 4},
	{`"abcdefghijklmnop`, 17},
	{`"\`, 1},
	{`"\"`, 3},
	{`"\x41"`, 1},
	{`"\'"`, 1},
	{`"\U0041"`, 1},
	{`"\u"`, 1},
	{`"\u004"`, 1},
	{`"\u004g"`, 1},
	{`"\u+041"`, 1},
	{`"\u 041"`, 1},
	{`"\u0x41"`, 1},
	{`"\ud83d\u12"`, 7},
	{`"\ud83d\x"`, 7},
	{"\"a\nb\"", 2},
	{"\"a\tb\"", 2},
	{"\"\x00\"", 1},
	{"\"\x1f\"", 1},
	{"\"0123456789\x1f\"", 11},

	// Not UTF-8.
	{"\xff", 0},
	{"\"\xff\"", 1},
	{"\"\x80\"", 1},
	{"\"\xc3\"", 1},
	{"\"\xc0\xaf\"", 1},
	{"\"\xc1\xbf\"", 1},
	{"\"\xe0\x80\xaf\"", 1},
	{"\"\xf0\x80\x80\xaf\"", 1},
	{"\"\xed\xa0\x80\"", 1},
	{"\"\xed\xbf\xbf\"", 1},
	{"\"\xf4\x90\x80\x80\"", 1},
	{"\"\xf8\x88\x80\x80\x80\"", 1},
	{"\"0123456789\xe4\xbd\"", 11},
	{"{\"\xff\":1}", 2},
}

func TestInvalid(t *testing.T) {
	for _, tc := range invalidTests {
		v, err := Parse([]byte(tc.raw))
		if err == nil {
			t.Errorf("Parse(%q) = %s, want an error", tc.raw, AppendWire(nil, v))
			continue
		}
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("Parse(%q): errors.Is(%v, ErrInvalid) is false", tc.raw, err)
		}
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Parse(%q): %T is no *SyntaxError", tc.raw, err)
		} else if syntax.Offset != tc.offset || syntax.Msg == "" {
			t.Errorf("Parse(%q): offset %d, %q, want offset %d", tc.raw, syntax.Offset, syntax.Msg, tc.offset)
		}
		if _, err := Fingerprint([]byte(tc.raw), ""); !errors.As(err, &syntax) {
			t.Errorf("Fingerprint(%q): %v is no *SyntaxError", tc.raw, err)
		}
	}
}

func TestSyntaxErrorMessage(t *testing.T) {
	_, err := Parse([]byte(`{"a":}`))
	if want := "canon: invalid JSON at byte 5: a value is expected"; err == nil || err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

func TestIntDigits(t *testing.T) {
	nines := strings.Repeat("9", 4300)
	for _, raw := range []string{nines, "-" + nines} {
		v, err := Parse([]byte(raw))
		if err != nil || v != Int(raw) {
			t.Errorf("an int of 4300 digits (%d bytes): %v, not kept", len(raw), err)
		}
	}
	for _, raw := range []string{nines + "9", "-" + nines + "9", "[" + nines + "0]", `{"a":` + nines + `9,"a":1}`} {
		if _, err := Parse([]byte(raw)); !errors.Is(err, ErrInvalid) {
			t.Errorf("an int of 4301 digits (%.10s...): %v, want ErrInvalid", raw, err)
		}
	}
	for _, raw := range []string{nines + "9.0", nines + "9e0"} {
		if v, err := Parse([]byte(raw)); err != nil || v != Float(math.Inf(1)) {
			t.Errorf("a float of 4301 digits: %v, %v, want Infinity", v, err)
		}
	}
}

func TestDepth(t *testing.T) {
	nested := func(depth int, open, inner, closing string) []byte {
		return []byte(strings.Repeat(open, depth) + inner + strings.Repeat(closing, depth))
	}
	for _, tc := range []struct {
		depth int
		ok    bool
	}{{1, true}, {900, true}, {MaxDepth, true}, {MaxDepth + 1, false}, {1000, false}, {1 << 20, false}} {
		for _, raw := range [][]byte{
			nested(tc.depth, `[`, ``, `]`),
			nested(tc.depth, `{"a":`, `1`, `}`),
			nested(tc.depth, ` [1, `, `"x"`, ` ]`),
		} {
			v, err := Parse(raw)
			if (err == nil) != tc.ok {
				t.Errorf("%d levels of %.3s: %v", tc.depth, raw, err)
				continue
			}
			if !tc.ok {
				continue
			}
			again, err := Parse(AppendWire(nil, v))
			if err != nil || string(AppendWire(nil, again)) != string(AppendWire(nil, v)) {
				t.Errorf("%d levels of %.3s: do not print as they were read: %v", tc.depth, raw, err)
			}
			if _, err := Fingerprint(raw, ""); err != nil {
				t.Errorf("%d levels of %.3s: Fingerprint: %v", tc.depth, raw, err)
			}
		}
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct{ raw, canonical string }{
		{`{"b": 1, "a": [1.0, -0, 1E2]}`, `{"a":[1.0,0,100.0],"b":1}`},
		{`{"a":{"z":1,"y":2},"A":3,"":4}`, `{"":4,"A":3,"a":{"y":2,"z":1}}`},
		// By code point: U+FFFF comes before U+1F600, whose surrogates do not.
		{`{"\ud83d\ude00":1,"\uffff":2,"~":3,"é":4}`, `{"~":3,"é":4,"` + "\uffff" + `":2,"😀":1}`},
		// Equal in the first eight bytes; a NUL is not the end of a name.
		{`{"abcdefghi":1,"abcdefgh":2,"abcdefgh\u0000":3,"abc\u0000":4,"abc":5}`,
			`{"abc":5,"abc\u0000":4,"abcdefgh":2,"abcdefgh\u0000":3,"abcdefghi":1}`},
		{`"\u0022\u005c\/\u0008\u000C\u000a\u000D\u0009\u0000\u001F\u007f"`, `"\"\\/\b\f\n\r\t\u0000\u001f` + "\x7f\""},
		{`"\u00e9\u4F60\ud83d\ude00 é你😀\u2028"`, `"é你😀 é你😀` + "\u2028\""},
		{`[NaN,Infinity,-Infinity,1e400,-0.0]`, `[NaN,Infinity,-Infinity,Infinity,-0.0]`},
		{`{"k":"\ud800","k":1}`, `{"k":1}`},
	}
	for _, tc := range tests {
		v, err := Parse([]byte(tc.raw))
		if err != nil {
			t.Errorf("Parse(%q): %v", tc.raw, err)
			continue
		}
		got, err := AppendCanonical([]byte("> "), v)
		if err != nil || string(got) != "> "+tc.canonical {
			t.Errorf("Parse(%q) is %s in canonical form, %v, want > %s", tc.raw, got, err, tc.canonical)
		}
		checkDocument(t, []byte(tc.raw), v)
	}
}

func TestSurrogate(t *testing.T) {
	for _, raw := range []string{
		`"\ud800"`, `"\udfff"`, `["a\udc00b"]`, `{"\ud800":1}`, `{"a":{"b\ude00":1}}`,
		`"\ud83d\ud83d\ude00"`, `"\ude00\ud83d"`, `"\ud83d\u0041"`,
	} {
		v, err := Parse([]byte(raw))
		if err != nil {
			t.Errorf("Parse(%s): %v", raw, err)
			continue
		}
		if got, err := AppendCanonical([]byte("> "), v); err != ErrSurrogate || string(got) != "> " {
			t.Errorf("AppendCanonical of %s = %q, %v, want ErrSurrogate and nothing appended", raw, got, err)
		}
		if _, err := Fingerprint([]byte(raw), ""); err != ErrSurrogate {
			t.Errorf("Fingerprint(%s): %v, want ErrSurrogate", raw, err)
		}
		checkDocument(t, []byte(raw), v)
	}
}

func TestTruth(t *testing.T) {
	for raw, want := range map[string]bool{
		`null`: false, `false`: false, `true`: true,
		`0`: false, `-0`: false, `1`: true, `-1`: true,
		`0.0`: false, `-0.0`: false, `0e5`: false, `1e-400`: false, `0.5`: true, `NaN`: true, `Infinity`: true,
		`""`: false, `"0"`: true, `" "`: true, `"\u0000"`: true,
		`[]`: false, `[0]`: true, `{}`: false, `{"":0}`: true,
	} {
		v, err := Parse([]byte(raw))
		if err != nil {
			t.Errorf("Parse(%s): %v", raw, err)
		}
		if got := Truth(v); got != want {
			t.Errorf("Truth(%s) = %t", raw, got)
		}
		checkDocument(t, []byte(raw), v)
	}
	if Truth(nil) {
		t.Error("Truth(nil) = true")
	}
}

func TestSorted(t *testing.T) {
	raw := `{"b":[{"z":1,"a":{"y":1,"x":2}}],"\uffff":1,"😀":2,"a":null}`
	v, err := Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	before := string(AppendWire(nil, v))
	want := `{"a": null, "b": [{"a": {"x": 2, "y": 1}, "z": 1}], "\uffff": 1, "\ud83d\ude00": 2}`
	if got := string(AppendWire(nil, Sorted(v))); got != want {
		t.Errorf("Sorted prints %s, want %s", got, want)
	}
	if after := string(AppendWire(nil, v)); after != before {
		t.Errorf("Sorted changed its argument to %s", after)
	}
	if Sorted(nil) != nil {
		t.Error("Sorted(nil) is not nil")
	}
}

func TestObjectGet(t *testing.T) {
	o := Object{{"a", IntOf(-5)}, {"b", nil}}
	if v, ok := o.Get("a"); !ok || v != Int("-5") {
		t.Errorf("Get(a) = %v, %t", v, ok)
	}
	if v, ok := o.Get("b"); !ok || v != nil {
		t.Errorf("Get(b) = %v, %t", v, ok)
	}
	if v, ok := o.Get("c"); ok || v != nil {
		t.Errorf("Get(c) = %v, %t", v, ok)
	}
}

func TestIntOf(t *testing.T) {
	for n, want := range map[int64]Int{0: "0", 42: "42", math.MinInt64: "-9223372036854775808"} {
		if got := IntOf(n); got != want {
			t.Errorf("IntOf(%d) = %s", n, got)
		}
	}
}

func TestStrip(t *testing.T) {
	spaces := "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
	for _, r := range spaces {
		if got := Strip(string(r) + "a" + string(r)); got != "a" {
			t.Errorf("Strip leaves %q of U+%04X", got, r)
		}
	}
	for s, want := range map[string]string{
		"":                     "",
		"a":                    "a",
		spaces:                 "",
		spaces + "k" + spaces:  "k",
		" a b ":                "a b",
		"\u200b a\u180e":       "\u200b a\u180e",
		"\ufeffa":              "\ufeffa",
		"\x00a\x1b":            "\x00a\x1b",
		" \x85a\xa0 ":          "\x85a\xa0",
		" \xff ":               "\xff",
		" \xed\xa0\x80 \u3000": "\xed\xa0\x80",
	} {
		if got := Strip(s); got != want {
			t.Errorf("Strip(%q) = %q, want %q", s, got, want)
		}
	}
}
