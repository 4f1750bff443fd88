package faults_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/faults"
	"github.com/hermesfake/hermesfake/handler"
	"github.com/hermesfake/hermesfake/transport"
)

// BenchmarkPoll times polls of a fake without a fault layer, with one that has no
// rules, and with one whose rule is for another operation. They take turns, so
// that all see the same machine.
func BenchmarkPoll(b *testing.B) {
	other := faults.New(1)
	if _, err := other.Add(faults.AllNamespaces, faults.SubmitAcceptedDrop()); err != nil {
		b.Fatal(err)
	}
	contestants := []struct {
		unit       string
		middleware handler.Middleware
		client     *http.Client
		took       time.Duration
	}{
		{unit: "ns/no-layer"},
		{unit: "ns/no-rules", middleware: faults.New(1)},
		{unit: "ns/other-rule", middleware: other},
	}
	const id = "run_00000000000000000000000000000000"
	for i := range contestants {
		c := &contestants[i]
		h := handler.New(engine.New(engine.Config{}), handler.Options{Middleware: c.middleware})
		c.client = &http.Client{Transport: transport.New(h, "hermes.test")}
	}
	const turn = 200
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for i := range contestants {
			c := &contestants[i]
			began := time.Now()
			for range turn {
				res, err := c.client.Get("http://hermes.test/v1/runs/" + id)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			c.took += time.Since(began)
		}
		n += turn
	}
	for _, c := range contestants {
		b.ReportMetric(float64(c.took)/float64(n), c.unit)
	}
}
