package canon

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "record Python's answers to a part of the corpus in testdata/python.json")

const recordFile = "testdata/python.json"

// judge answers for each line, a document and a session key in hex, with a
// line: "-" when json.loads rejects the document, else what json.dumps prints,
// a tab, and the fingerprint or the word surrogate. The first line it prints
// is its version.
const judge = `
import hashlib, json, sys
print(*sys.version_info[:3], flush=True)
for line in sys.stdin:
    document, key = map(bytes.fromhex, line.rstrip("\n").split(" "))
    try:
        body = json.loads(document.decode("utf-8"))
    except (ValueError, RecursionError):
        print("-")
        continue
    text = json.dumps({"body": body, "gateway_session_key": key.decode("utf-8")},
        sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    try:
        fingerprint = hashlib.sha256(text.encode("utf-8")).hexdigest()
    except UnicodeEncodeError:
        fingerprint = "surrogate"
    print(json.dumps(body), fingerprint, sep="\t")
`

// pythonCase is a document and Python's answer to it.
type pythonCase struct {
	Text        string `json:"text,omitempty"` // the document,
	Hex         string `json:"hex,omitempty"`  // or, when it is not UTF-8, its bytes
	Key         string `json:"key,omitempty"`  // the session key
	Wire        string `json:"wire,omitempty"` // "" when json.loads rejects it
	Fingerprint string `json:"fingerprint,omitempty"`
}

func (c *pythonCase) document() []byte {
	if c.Hex != "" {
		raw, err := hex.DecodeString(c.Hex)
		if err != nil {
			panic(err)
		}
		return raw
	}
	return []byte(c.Text)
}

// check compares this package's answer with Python's.
func (c *pythonCase) check(t *testing.T) {
	t.Helper()
	raw := c.document()
	v, err := Parse(raw)
	if (err == nil) != (c.Wire != "") {
		t.Errorf("Parse(%.200q): %v, Python reads %.200s", raw, err, c.Wire)
		return
	}
	sum, sumErr := Fingerprint(raw, c.Key)
	if err != nil {
		if _, ok := sumErr.(*SyntaxError); !ok {
			t.Errorf("Fingerprint(%.200q): %v, want a *SyntaxError", raw, sumErr)
		}
		return
	}
	wire := AppendWire(nil, v)
	if string(wire) != c.Wire {
		t.Errorf("Parse(%.200q) prints %.200s, Python prints %.200s", raw, wire, c.Wire)
	}
	fingerprint := hex.EncodeToString(sum[:])
	if sumErr == ErrSurrogate {
		fingerprint = "surrogate"
	}
	if fingerprint != c.Fingerprint {
		t.Errorf("Fingerprint(%.200q, %q) = %s, %v, Python has %s", raw, c.Key, fingerprint, sumErr, c.Fingerprint)
	}
	again, err := Parse(wire)
	if err != nil || !bytes.Equal(AppendWire(nil, again), wire) {
		t.Errorf("%.200s does not print as it was read: %.200s, %v", wire, AppendWire(nil, again), err)
	}
	checkDocument(t, raw, v)
}

// TestPython compares this package with the Python that is installed, on a
// corpus that is the same every time.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 in PATH to compare with; only its recorded answers in " + recordFile + " are checked, by TestPythonRecorded")
	}
	cases := corpus()
	var questions bytes.Buffer
	for i := range cases {
		fmt.Fprintf(&questions, "%x %x\n", cases[i].document(), cases[i].Key)
	}
	cmd := exec.Command(python, "-c", judge)
	cmd.Stdin = &questions
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", python, err, stderr.Bytes())
	}
	answers := bufio.NewScanner(bytes.NewReader(out))
	answers.Buffer(nil, len(out)+1)
	answers.Scan()
	var major, minor, micro int
	if _, err := fmt.Sscan(answers.Text(), &major, &minor, &micro); err != nil {
		t.Fatalf("the version of %s is %q: %v", python, answers.Text(), err)
	}
	if major != 3 || minor < 11 {
		t.Skipf("%s is Python %d.%d.%d, which has no limit on the digits of an int; 3.11 or later is needed", python, major, minor, micro)
	}
	rejected, surrogates := 0, 0
	for i := range cases {
		if !answers.Scan() {
			t.Fatalf("%s answered %d of %d questions", python, i, len(cases))
		}
		c := &cases[i]
		if answers.Text() == "-" {
			rejected++
		} else {
			var ok bool
			if c.Wire, c.Fingerprint, ok = strings.Cut(answers.Text(), "\t"); !ok {
				t.Fatalf("%s answered %q", python, answers.Text())
			}
		}
		if c.Fingerprint == "surrogate" {
			surrogates++
		}
		c.check(t)
	}
	t.Logf("Python %d.%d.%d: %d documents, of which %d are invalid and %d have a lone surrogate", major, minor, micro, len(cases), rejected, surrogates)
	if accepted := len(cases) - rejected; len(cases) < 20000 || accepted < 15000 || rejected < 5000 || surrogates < 500 {
		t.Error("the corpus has become too small or one-sided to prove much")
	}
	if *update {
		record(t, cases)
	}
}

// TestPythonRecorded does the same with answers that were recorded.
func TestPythonRecorded(t *testing.T) {
	text, err := os.ReadFile(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	var cases []pythonCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 500 {
		t.Errorf("%s has only %d cases", recordFile, len(cases))
	}
	for i := range cases {
		cases[i].check(t)
	}
}

// record writes the fixed cases and some of the generated ones, the short ones
// of either.
func record(t *testing.T, cases []pythonCase) {
	var lines []string
	all := len(fixed())
	for i, c := range cases {
		if i >= all && i%71 != 0 || len(c.document()) > 600 {
			continue
		}
		var line strings.Builder
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(c); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.TrimSpace(line.String()))
	}
	text := "[\n" + strings.Join(lines, ",\n") + "\n]\n"
	if err := os.WriteFile(recordFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d cases were recorded in %s", len(lines), recordFile)
}

func newCase(raw []byte, key string) pythonCase {
	if utf8.Valid(raw) {
		return pythonCase{Text: string(raw), Key: key}
	}
	return pythonCase{Hex: hex.EncodeToString(raw), Key: key}
}

// fixed returns the documents of the table tests and some lists of floats.
func fixed() []pythonCase {
	var cases []pythonCase
	for _, tc := range wireTests {
		cases = append(cases, newCase([]byte(tc.raw), ""))
	}
	for _, tc := range invalidTests {
		cases = append(cases, newCase([]byte(tc.raw), ""))
	}
	for _, key := range sessionKeys {
		cases = append(cases, newCase([]byte(`{"input":"x"}`), key))
	}
	for _, raw := range []string{
		strings.Repeat("9", 4300), "-" + strings.Repeat("9", 4300),
		strings.Repeat("9", 4301), "-" + strings.Repeat("9", 4301), strings.Repeat("9", 4301) + ".0",
		"0." + strings.Repeat("0", 20000) + "1e20001", "1" + strings.Repeat("0", 20000) + "e-20000",
		"9007199254740993." + strings.Repeat("0", 3000) + "1", "9007199254740993." + strings.Repeat("0", 3000),
		strings.Repeat("[", 900) + strings.Repeat("]", 900),
		strings.Repeat(`{"a":`, 900) + "1" + strings.Repeat("}", 900),
	} {
		cases = append(cases, newCase([]byte(raw), ""))
	}
	var powers []float64
	for e := -1074; e < 1024; e++ {
		powers = append(powers, math.Ldexp(1, e))
	}
	for e := -324; e < 309; e++ {
		f, _ := strconv.ParseFloat("1e"+strconv.Itoa(e), 64)
		powers = append(powers, f, 3*f)
	}
	for chunk := range slices.Chunk(powers, 10) {
		var list []string
		for _, f := range chunk {
			for _, f := range []float64{math.Nextafter(f, 0), f, math.Nextafter(f, math.MaxFloat64)} {
				list = append(list, fmt.Sprintf("%.17e", f))
			}
		}
		cases = append(cases, newCase([]byte("["+strings.Join(list, ",")+"]"), ""))
	}
	return cases
}

var sessionKeys = []string{"", "session", "ключ 会话 😀", "a\"b\\c\n\t\x00\x1f\x7f/", "\u0085\u2028\uffff", strings.Repeat("k", 256)}

// corpus returns the fixed documents, generated ones, and for every second of
// those one that was damaged.
func corpus() []pythonCase {
	g := &generator{rand.New(rand.NewPCG(20260831, 311))}
	cases := fixed()
	for i := range 20000 {
		raw := g.document()
		key := sessionKeys[g.IntN(len(sessionKeys))]
		cases = append(cases, newCase(raw, key))
		if i%2 == 0 {
			cases = append(cases, newCase(g.damage(raw), key))
		}
	}
	return cases
}

// generator writes random documents in random spelling.
type generator struct{ *rand.Rand }

func (g *generator) document() []byte {
	return g.space(g.value(g.space(nil), 0))
}

func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) space(b []byte) []byte {
	for g.IntN(4) == 0 {
		b = append(b, " \t\r\n"[g.IntN(4)])
	}
	return b
}

func (g *generator) value(b []byte, depth int) []byte {
	n := g.IntN(10)
	if depth == 0 && g.IntN(4) > 0 || depth < 8 && n < 3 {
		return g.container(b, depth)
	}
	switch n {
	case 3, 4, 5:
		return g.text(b)
	case 6, 7:
		return g.int(b)
	case 8:
		return g.float(b)
	}
	return append(b, g.pick("null", "true", "false", "NaN", "Infinity", "-Infinity")...)
}

func (g *generator) container(b []byte, depth int) []byte {
	count := g.IntN(5)
	if g.IntN(30) == 0 {
		count = g.IntN(60)
	}
	object := g.IntN(2) == 0
	if object {
		b = append(b, '{')
	} else {
		b = append(b, '[')
	}
	b = g.space(b)
	for i := range count {
		if i > 0 {
			b = g.space(append(b, ','))
		}
		if object {
			b = g.space(append(g.space(g.name(b)), ':'))
		}
		b = g.space(g.value(b, depth+1+count/8))
	}
	if object {
		return append(b, '}')
	}
	return append(b, ']')
}

// name is often one that the object has already, perhaps in other spelling.
func (g *generator) name(b []byte) []byte {
	if g.IntN(3) == 0 {
		return g.text(b)
	}
	return append(append(append(b, '"'), g.pick(
		"a", "b", "A", "", "ab", `\u0061`, `a\u0062`, "role", "content", "content_", "content_type", `content\u005Ftype`, `content\u0000`,
		"é", `\u00e9`, `\u00E9`, "e\u0301", "😀", `\ud83d\ude00`, `\uD83D\uDE00`, `\ud83d`, `\ude00`, "\uffff", `\uffff`, "\ue000", "~", " ", `\"`, `\\`, `\/`, "/",
	)...), '"')
}

func (g *generator) text(b []byte) []byte {
	b = append(b, '"')
	for range g.IntN(6) {
		switch g.IntN(6) {
		case 0:
			b = append(b, g.pick("word", "two words", "a sentence that is longer than a machine word. ", "x", " ", "/", "'", "\x7f", "<&>")...)
		case 1:
			b = append(b, '\\', "\"\\/bfnrt"[g.IntN(8)])
		case 2:
			b = fmt.Appendf(b, g.pick(`\u%04x`, `\u%04X`), g.IntN(0x10000))
		case 3:
			b = fmt.Appendf(b, g.pick(`\u%04x`, `\u%04X`), g.IntN(0x100))
		case 4:
			if g.IntN(3) > 0 {
				b = append(b, g.pick(`\ud83d\ude00`, `\uDBFF\uDFFF`, `\ud800\udc00`, `\\ud800`)...)
				break
			}
			b = append(b, g.pick(`\ud800`, `\udc00`, `\ud83d\ud83d\ude00`, `\ude00\ud83d`, `\ud83d\n`, `\ud83d\\ude00`, `\ud83dx`)...)
		case 5:
			b = append(b, g.pick("é", "你", "😀", "\u0080", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff", "\ufffd", "\ue000", "\u2028", "e\u0301")...)
		}
	}
	return append(b, '"')
}

func (g *generator) int(b []byte) []byte {
	switch g.IntN(8) {
	case 0:
		return append(b, g.pick("0", "-0", "1", "-1", "9007199254740993", "18446744073709551616")...)
	case 1:
		b = append(b, g.pick("", "-")...)
		b = append(b, byte('1'+g.IntN(9)))
		for range g.IntN(60) {
			b = append(b, byte('0'+g.IntN(10)))
		}
		return b
	}
	return strconv.AppendInt(b, g.Int64()>>g.IntN(64), 10)
}

func (g *generator) float(b []byte) []byte {
	switch g.IntN(6) {
	case 0:
		return append(b, g.pick("0.0", "-0.0", "0e5", "-0E-5", "1e400", "-1e400", "1e-400", "1e16", "1e22", "1E+22", "1e-7", "1e-5", "0.0001",
			"1.7976931348623157e308", "1.7976931348623159e308", "5e-324", "2e-324", "2.4703282292062328e-324", "9007199254740993.0", "1700000000.0")...)
	case 1:
		return strconv.AppendFloat(b, math.Round(g.Float64()*1e6)/1e3, 'f', 1+g.IntN(25), 64)
	case 2:
		b = append(g.int(b), '.')
		for range 1 + g.IntN(40) {
			b = append(b, byte('0'+g.IntN(10)))
		}
		return b
	case 3:
		return fmt.Appendf(g.int(b), g.pick("e%d", "E%d", "e%+d", "E%+04d"), g.IntN(700)-350)
	}
	f := math.Float64frombits(g.Uint64())
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 1.5
	}
	return strconv.AppendFloat(b, f, 'e', []int{-1, 1, 5, 15, 16, 17, 20}[g.IntN(7)], 64)
}

// damage returns raw with one or two small changes, which often make it
// invalid.
func (g *generator) damage(raw []byte) []byte {
	raw = bytes.Clone(raw)
	for range 1 + g.IntN(2) {
		if len(raw) == 0 {
			return raw
		}
		i := g.IntN(len(raw))
		piece := g.pick("{", "}", "[", "]", ",", ":", `"`, `\`, "'", "0", "1", "-", "+", ".", "e", "E", "x", "u", "N", "I", "/", "#",
			" ", "\x00", "\n", "\x0b", "\x1f", "\x7f", "\x80", "\xbf", "\xc0", "\xc3", "\xe0", "\xed\xa0\x80", "\xf4\x90", "\xff", "\ufeff", "\u00a0", "\u0661",
			"null", "NaN", "-NaN", "True", "//", "/**/", `\u`, `\ud83d`, `\x41`, ",,", "00", "1.", ".5", "1e", "0x1")
		switch g.IntN(5) {
		case 0:
			raw = append(raw[:i], raw[i+1:]...)
		case 1:
			raw = raw[:i]
		case 2:
			raw = append(raw[:i], append([]byte(piece), raw[i+1:]...)...)
		case 3:
			raw = append(raw[:i], append([]byte(piece), raw[i:]...)...)
		case 4:
			j := g.IntN(len(raw))
			raw[i], raw[j] = raw[j], raw[i]
		}
	}
	return raw
}
