package engine

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/canon"
)

// recordedRounds are what Python 3.11 gives for round(x, 3).
var recordedRounds = []struct{ x, want float64 }{
	{0.4125, 0.412}, {1.0005, 1.0}, {0.0005, 0.001}, {0.0015, 0.002}, {0.0025, 0.003}, {2.0005, 2.001},
	{0.0625, 0.062}, {0.1875, 0.188}, {0.3125, 0.312}, {0.4375, 0.438}, {8.0625, 8.062}, {1048576.0625, 1048576.062}, // ties
	{0.9995, 1.0}, {0.99949999999, 0.999}, {0.0004999999999999999, 0.0}, {1234.5675, 1234.568},
	{-0.0005, -0.001}, {-0.0004, math.Copysign(0, -1)}, {math.Copysign(0, -1), math.Copysign(0, -1)}, {5e-324, 0.0},
	{123456789.98765431, 123456789.988}, {4503599627370498.0, 4503599627370498.0}, {1e22, 1e22}, {1e300, 1e300},
	{math.MaxFloat64, math.MaxFloat64}, {math.Inf(1), math.Inf(1)}, {math.Inf(-1), math.Inf(-1)},
}

func TestRoundedRecorded(t *testing.T) {
	for _, c := range recordedRounds {
		got, ok := rounded(canon.Float(c.x)).(canon.Float)
		if !ok || math.Float64bits(float64(got)) != math.Float64bits(c.want) {
			t.Errorf("round(%v, 3) = %v, want %v", c.x, got, c.want)
		}
	}
	if got, ok := rounded(canon.Float(math.NaN())).(canon.Float); !ok || !math.IsNaN(float64(got)) {
		t.Errorf("round(nan, 3) = %v", got)
	}
	for _, other := range []canon.Value{canon.Int("5"), canon.Int("123456789012345678901234567890"), canon.Null{}, canon.String("x")} {
		if got := rounded(other); got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
}

// TestRoundedAsPython asks Python, where it is installed, for random values, ties and their neighbours.
func TestRoundedAsPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	rng := rand.New(rand.NewPCG(3, 0))
	var values []float64
	for range 2500 {
		near := math.Round(rng.Float64()*1e6)/1000 + 0.0005
		values = append(values,
			math.Float64frombits(rng.Uint64()),                   // any
			rng.Float64()*math.Pow10(rng.IntN(12)-4),             // of a usual size
			float64(rng.IntN(1<<20))/16+0.0625,                   // a tie or next to one
			math.Nextafter(near, near+float64(rng.IntN(3)-1)*10)) // next to a tie in decimal
	}
	var input bytes.Buffer
	for _, v := range values {
		fmt.Fprintf(&input, "%016x\n", math.Float64bits(v))
	}
	judge := exec.Command(python, "-c", `
import struct, sys
for line in sys.stdin:
    print(struct.pack(">d", round(struct.unpack(">d", bytes.fromhex(line.strip()))[0], 3)).hex())
`)
	judge.Stdin = &input
	out, err := judge.Output()
	if err != nil {
		t.Skipf("python3 does not run: %v", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for _, v := range values {
		if !lines.Scan() {
			t.Fatal("Python has stopped answering")
		}
		bits, err := strconv.ParseUint(lines.Text(), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		want := math.Float64frombits(bits)
		got := float64(rounded(canon.Float(v)).(canon.Float))
		if math.Float64bits(got) != bits && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("round(%v, 3) = %v, want %v", v, got, want)
		}
	}
}

// TestEmit proves what each event streams, and that nothing else of it does (vectors: events.json, events-full-stream).
func TestEmit(t *testing.T) {
	parse := func(text string) canon.Object {
		v, err := canon.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v.(canon.Object)
	}
	for _, c := range []struct{ name, fields, want string }{
		{"message.delta", `{}`, `, "delta": ""`},
		{"message.delta", `{"delta": "é\ud800", "other": 1}`, `, "delta": "\u00e9\ud800"`},
		{"message.delta", `{"delta": null}`, `, "delta": ""`},
		{"tool.started", `{}`, `, "tool": null, "preview": null`},
		{"tool.started", `{"preview": "p", "tool": "t", "error": true}`, `, "tool": "t", "preview": "p"`},
		{"tool.completed", `{}`, `, "tool": null, "duration": 0, "error": false`},
		{"tool.completed", `{"tool": "t", "duration": 0.4125, "error": true}`, `, "tool": "t", "duration": 0.412, "error": true`},
		{"tool.completed", `{"duration": 7, "error": null}`, `, "tool": null, "duration": 7, "error": false`},
		{"tool.completed", `{"duration": 7.0}`, `, "tool": null, "duration": 7.0, "error": false`},
		{"tool.completed", `{"duration": -0.0001}`, `, "tool": null, "duration": -0.0, "error": false`},
		{"tool.completed", `{"duration": NaN}`, `, "tool": null, "duration": NaN, "error": false`},
		{"tool.completed", `{"duration": 1e400}`, `, "tool": null, "duration": Infinity, "error": false`},
		{"reasoning.available", `{}`, `, "text": ""`},
		{"reasoning.available", `{"text": "hm", "preview": "p"}`, `, "text": "hm"`},
		{"subagent.start", `{}`, ``},
		{"subagent.start", `{"output_tail": 1, "goal": "g", "unknown": 2, "preview": "p", "depth": null, "model": {"b": 1, "a": 2}}`,
			`, "preview": "p", "goal": "g", "model": {"b": 1, "a": 2}, "output_tail": 1`},
		{"subagent.complete", `{"status": "completed", "duration_seconds": 0.12345}`,
			`, "status": "completed", "duration_seconds": 0.12345`},
	} {
		n := open(t, Config{})
		id := submit(t, n, "")
		advance(t, n, 250_000_001)
		if emitted, err := n.Emit(id, Event{c.name, parse(c.fields)}); !emitted || err != nil {
			t.Errorf("%s %s: %t %v", c.name, c.fields, emitted, err)
		}
		want := `data: {"event": "` + c.name + `", "run_id": "` + id.String() + `", "timestamp": 1700000000.25` + c.want + "}\n\n"
		if got, _ := given(subscribe(t, n, id)); got != want {
			t.Errorf("%s %s\n got %swant %s", c.name, c.fields, got, want)
		}
		run := inspect(t, n, id).Run
		if moved := run.UpdatedAt().UnixNano() != start; moved != (c.name != "message.delta") || moved != (run.LastEvent() == c.name) {
			t.Errorf("%s: updated %v, last event %q", c.name, run.UpdatedAt(), run.LastEvent())
		}
	}
	n := open(t, Config{})
	id := submit(t, n, "")
	for _, name := range []string{"", "_thinking", "subagent.tool", "run.started", "run.completed", "approval.request", "Message.Delta"} {
		if emitted, err := n.Emit(id, Event{Name: name}); emitted || err != nil {
			t.Errorf("%q: %t %v", name, emitted, err)
		}
	}
	if in := inspect(t, n, id); in.Queue.Events != 0 || in.Run.LastEvent() != "" {
		t.Errorf("%+v", in)
	}
	if _, err := n.Emit(RunID{}, Event{Name: "message.delta"}); !errors.Is(err, RunNotFound) {
		t.Errorf("%v", err)
	}
}

// TestDeltasAreAlike proves that the two ways to stream text print the same.
func TestDeltasAreAlike(t *testing.T) {
	for _, text := range []string{"", "x", "é😀\u2028\"\\/\x7f\x00\n", "\xed\xa0\x80", strings.Repeat("long ", 1000)} {
		n := open(t, Config{})
		id := submit(t, n, "")
		delta(t, n, id, text)
		one, _ := given(subscribe(t, n, id))
		other := submit(t, open(t, Config{}), "")
		if other != id {
			t.Fatal("another id")
		}
		m := open(t, Config{})
		submit(t, m, "")
		if _, err := m.Emit(id, Event{"message.delta", object("delta", text)}); err != nil {
			t.Fatal(err)
		}
		if two, _ := given(subscribe(t, m, id)); one != two {
			t.Errorf("%q\n%q", one, two)
		}
	}
}
