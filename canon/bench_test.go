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

// timePer is the time of one call of f, the best of several rounds.
func timePer(f func()) time.Duration {
	best := time.Duration(1 << 62)
	for range 7 {
		n := 0
		start := time.Now()
		for time.Since(start) < 5*time.Millisecond {
			f()
			n++
		}
		best = min(best, time.Since(start)/time.Duration(n))
	}
	return best
}

// benchmarkFingerprint measures f on body and, in the same run, the peers: the
// hash of the same bytes alone, and encoding/json, which sorts and prints what
// it parsed but is not faithful to Python.
func benchmarkFingerprint(b *testing.B, body []byte, f func()) {
	var sum [32]byte
	hash := timePer(func() { sum = sha256.Sum256(body) })
	std := timePer(func() {
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			b.Fatal(err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			b.Fatal(err)
		}
		sum = sha256.Sum256(out)
	})
	_ = sum
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		f()
	}
	perOp := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(perOp/float64(hash.Nanoseconds()), "×sha256")
	b.ReportMetric(float64(std.Nanoseconds())/perOp, "×faster-than-encoding/json")
}

func BenchmarkFingerprint(b *testing.B) {
	bodies := []struct {
		name string
		body []byte
	}{
		{"200B", []byte(smallBody)},
		{"64KB", chatBody(64 << 10)},
		{"1MB", chatBody(1 << 20)},
	}
	for _, tc := range bodies {
		b.Run("document/"+tc.name, func(b *testing.B) {
			var d Document
			benchmarkFingerprint(b, tc.body, func() {
				if err := d.Parse(tc.body); err != nil {
					b.Fatal(err)
				}
				if _, err := d.Fingerprint("session-key"); err != nil {
					b.Fatal(err)
				}
			})
		})
		b.Run("package/"+tc.name, func(b *testing.B) {
			benchmarkFingerprint(b, tc.body, func() {
				if _, err := Fingerprint(tc.body, "session-key"); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
