package hermesfake

import (
	"fmt"
	"strings"
	"time"

	"github.com/hermesfake/hermesfake/faults"
)

// Bounds of what Dump shows of each namespace, the latest ones.
const (
	dumpRuns     = 50
	dumpRequests = 50
)

// Dump returns a readable text of the whole fake: fault rules, and clocks, runs and the
// latest requests of each namespace. It shows what the test made the executor say, and nothing that a client sent.
func (f *Fake) Dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hermesfake %s, seed %d\n", Version, f.Seed())
	for _, i := range f.core.faults.List(faults.AllNamespaces) {
		text, _ := i.MarshalJSON()
		fmt.Fprintf(&b, "  fault %s\n", text)
	}
	for _, name := range f.core.engine.Namespaces() {
		view, err := f.Namespace(name)
		if err != nil {
			continue
		}
		view.dump(&b)
	}
	return b.String()
}

func (f *Fake) dump(b *strings.Builder) {
	clock, counts, gateway := f.namespace.Clock(), f.namespace.Counts(), f.namespace.Gateway()
	running := "running"
	if clock.Frozen {
		running = "frozen: only Advance and SetTime move it"
	}
	fmt.Fprintf(b, "\nnamespace %s\n  clock %s (%s)\n", f.namespace.Name(),
		clock.Now.Format(time.RFC3339Nano), running)
	fmt.Fprintf(b, "  gateway: %d active of at most %d, draining %t\n",
		counts.Active, gateway.MaxConcurrentRuns, gateway.Draining)
	fmt.Fprintf(b, "  runs: %d admitted, %d cached, %d durable rows, %d open streams\n",
		counts.Admitted, counts.Cached, counts.Durable, counts.Streams)
	if t := f.namespace.Timeline(); t.Head != "" {
		fmt.Fprintf(b, "  timeline: branch %s at %s, %d checkpoints\n", t.Branch, t.Head, t.Checkpoints)
	}
	runs := f.Runs()
	if left := len(runs) - dumpRuns; left > 0 {
		fmt.Fprintf(b, "    ... %d earlier\n", left)
		runs = runs[left:]
	}
	for _, r := range runs {
		r.dump(b)
	}
	requests := f.Requests()
	if left := len(requests) - dumpRequests; left > 0 {
		fmt.Fprintf(b, "  requests: ... %d earlier\n", left)
		requests = requests[left:]
	} else {
		fmt.Fprintf(b, "  requests: %d\n", len(requests))
	}
	for _, q := range requests {
		fault := ""
		if q.FaultID != "" {
			fault = " by fault " + q.FaultID
		}
		fmt.Fprintf(b, "    %s %s %s -> %d%s\n", q.At.UTC().Format("15:04:05.000"), q.Method, q.Path, q.Status, fault)
	}
}

func (r *Run) dump(b *strings.Builder) {
	in, err := r.Snapshot()
	if err != nil {
		return
	}
	fmt.Fprintf(b, "    %s\n", in.Run.AppendJSON(nil))
	if !in.Cached {
		b.WriteString("      only in its row\n")
	}
	if len(in.Pending) > 0 {
		fmt.Fprintf(b, "      %d pending approvals\n", len(in.Pending))
	}
	if q := in.Queue; q != nil && q.Events > 0 {
		fmt.Fprintf(b, "      %d events wait for a subscriber, %d bytes\n", q.Events, q.Bytes)
	}
	for _, s := range in.Subscribers {
		state := "waits"
		if s.Gone {
			state = "has gone, unnoticed,"
		}
		fmt.Fprintf(b, "      a subscriber %s for %s\n", state, s.Waiting)
	}
}
