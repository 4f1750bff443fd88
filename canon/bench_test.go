package canon

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// chatBody is a chat-like request of about size bytes: short roles and ids,
// paragraphs with quotes, line breaks and some text that is not ASCII.
func chatBody(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"model": "hermes-agent", "session_id": "session-0001", "stream": false, "temperature": 0.7, "input": [`)
	for i := 0; b.Len() < size-600; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		fmt.Fprintf(&b, `{"role": %q, "id": "msg_%06d", "created_at": %d, "content": "`, role, i, 1700000000+i)
		for range 1 + i%5 {
			b.WriteString(`Please look at the build of the gateway: it prints \"permission denied\" for /srv/data and stops.\nThen list what has to change, step by step, and say why. `)
		}
		b.WriteString(`Größe: 12 µs – danke.", "metadata": {"tokens": 217, "cached": true, "tags": ["build", "ops"], "parent": null}}`)
	}
	b.WriteString(`], "conversation_history": [], "metadata": {"tenant": "blue", "attempt": 1}}`)
	return []byte(b.String())
}

const smallBody = `{"input": "List the files that changed since yesterday and say why.", "session_id": "session-0001", "model": "hermes-agent", "metadata": {"attempt": 1, "tenant": "blue", "trace": "4bf92f3577b34da6"}}`

// textBody is one member of about size bytes.
func textBody(text string, size int) []byte {
	return []byte(`{"input": "` + strings.Repeat(text, size/len(text)) + `"}`)
}

// best returns the time in nanoseconds of one call of each function. They take
// turns, and the best turn counts, so that a noisy machine disturbs them alike.
func best(functions ...func()) []float64 {
	times := make([]float64, len(functions))
	for range 30 {
		for i, f := range functions {
			calls := 0
			start := time.Now()
			for time.Since(start) < time.Millisecond {
				f()
				f()
				f()
				f()
				calls += 4
			}
			t := float64(time.Since(start).Nanoseconds()) / float64(calls)
			if times[i] == 0 || t < times[i] {
				times[i] = t
			}
		}
	}
	return times
}

// BenchmarkFingerprint compares with two peers in the same run: the hash of the
// same bytes alone, and encoding/json, which parses, sorts and prints but is
// not faithful to Python. The bar is 6 times the hash, without allocation.
func BenchmarkFingerprint(b *testing.B) {
	for _, bc := range []struct {
		name string
		body []byte
	}{
		{"200B", []byte(smallBody)},
		{"64KB", chatBody(64 << 10)},
		{"64KB-Chinese", textBody("你好，世界。请看一下。", 64<<10)},
		{"64KB-escaped", textBody(`\u4f60\u597d\uff0c\u4e16\u754c\n`, 64<<10)},
		{"1MB", chatBody(1 << 20)},
	} {
		var d Document
		document := func() {
			if err := d.Parse(bc.body); err != nil {
				b.Fatal(err)
			}
			if _, err := d.Fingerprint("session-key"); err != nil {
				b.Fatal(err)
			}
		}
		function := func() {
			if _, err := Fingerprint(bc.body, "session-key"); err != nil {
				b.Fatal(err)
			}
		}
		hash := func() { sha256.Sum256(bc.body) }
		standard := func() {
			var v any
			if err := json.Unmarshal(bc.body, &v); err != nil {
				b.Fatal(err)
			}
			text, err := json.Marshal(map[string]any{"body": v, "gateway_session_key": "session-key"})
			if err != nil {
				b.Fatal(err)
			}
			sha256.Sum256(text)
		}
		for _, way := range []struct {
			name string
			f    func()
		}{{"document", document}, {"function", function}} {
			f := way.f
			b.Run(bc.name+"/"+way.name, func(b *testing.B) {
				b.SetBytes(int64(len(bc.body)))
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
				times := best(f, hash, standard)
				b.ReportMetric(times[0], "best-ns")
				b.ReportMetric(times[0]/times[1], "x-sha256")
				b.ReportMetric(times[0]/times[2], "x-encoding/json")
			})
		}
	}
}

func BenchmarkMillionMembers(b *testing.B) {
	text := []byte("{")
	for i := range 1_000_000 {
		text = append(number(append(text, '"'), i*7919), `":1,`...)
	}
	text = append(text, `"":0}`...)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Fingerprint(text, ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendWireString(b *testing.B) {
	text := strings.Repeat("Please look at the build of the gateway:\n\"permission denied\" – and stops. ", 800)
	var dst []byte
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendWireString(dst[:0], text)
	}
	times := best(func() { dst = AppendWireString(dst[:0], text) }, func() {
		if _, err := json.Marshal(text); err != nil {
			b.Fatal(err)
		}
	})
	b.ReportMetric(times[0]/times[1], "x-encoding/json")
}
