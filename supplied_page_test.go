package hermesfake_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// pageStream are the updates of a page.
type pageStream struct {
	t    *testing.T
	in   *bufio.Reader
	seen strings.Builder
}

func followPage(t *testing.T, client *http.Client, url string) *pageStream {
	t.Helper()
	res, err := client.Get(url)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the updates: %v, error %v", res, err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return &pageStream{t: t, in: bufio.NewReader(res.Body)}
}

// until waits for what the page is told of supplied input to be so.
func (s *pageStream) until(what string, so func(inputPart) bool) {
	s.t.Helper()
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.t.Fatalf("before %s: %v", what, err)
		}
		if line != "event: input\n" {
			continue
		}
		line, _ = s.in.ReadString('\n')
		s.seen.WriteString(line)
		var part inputPart
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &part); err != nil {
			s.t.Fatal(err)
		}
		if so(part) {
			return
		}
	}
}

// inputPart is what the page is told of supplied input.
type inputPart struct {
	Known, Open, Recorded, Scripted, Waiting, Misused int
	Scopes                                            []struct {
		ID               string
		Closed, Admitted bool
		Result           string
		Failure          *struct{ Reason string }
	}
	Problems []string
	Run      *struct {
		RunID    string `json:"run_id"`
		Bound    bool
		Children []string
	}
}

// TestPageOfSuppliedInput proves that the page is told of each step of supplied input, over both doors, and of no text.
func TestPageOfSuppliedInput(t *testing.T) {
	for _, door := range []string{"in process", "socket"} {
		t.Run(door, func(t *testing.T) {
			fake := hermesfake.New(hermesfake.WithInputMisuseAllowed())
			t.Cleanup(fake.Close)
			client, base := fake.Client(), hermesfake.BaseURL
			if door == "socket" {
				server := httptest.NewServer(fake.Handler())
				t.Cleanup(server.Close)
				client, base = server.Client(), server.URL
			}
			_, run := handedOff(t, fake, client, base, "task")
			page := followPage(t, client, base+"/__admin/ui/updates?run="+run.ID())
			page.until("the run", func(p inputPart) bool {
				return p.Run != nil && p.Run.RunID == run.ID() && !p.Run.Bound && p.Open == 1 && p.Recorded == 1
			})
			if err := run.ModelRequest(t.Context(), "a planted message"); err != nil {
				t.Fatal(err)
			}
			page.until("a check", func(p inputPart) bool { return p.Run.Bound && p.Scopes[0].Admitted })
			if _, err := run.Child(t.Context(), "child"); err != nil {
				t.Fatal(err)
			}
			page.until("a child", func(p inputPart) bool { return len(p.Run.Children) == 1 })
			run.Complete("a planted output")
			page.until("a result", func(p inputPart) bool { return p.Waiting == 1 && p.Scopes[0].Result != "" })
			fake.Sources().Verify(hermesfake.Verification{Failure: hermesfake.VerifyTimeout, Times: 1})
			page.until("a script", func(p inputPart) bool { return p.Scripted == 1 })
			fake.Sources().ClearVerifications("")
			page.until("no script", func(p inputPart) bool { return p.Scripted == 0 })
			handoff, other := handedOff(t, fake, client, base, "task-2")
			fake.Sources().Erase("message")
			if other.Tool(t.Context()) == nil {
				t.Error("a tool was allowed")
			}
			page.until("a failure", func(p inputPart) bool {
				return p.Known == 2 && p.Scopes[0].Failure != nil && p.Scopes[0].Failure.Reason == "source_input_erased"
			})
			handoff.Close()
			other.Tool(t.Context())
			page.until("a misuse", func(p inputPart) bool { return p.Open == 1 && p.Misused == 1 && p.Scopes[0].Closed })
			if strings.Contains(page.seen.String(), "planted") {
				t.Errorf("the page was told %s", page.seen.String())
			}
		})
	}
}

// handedOff submits a run with a session inside a new scope of that session.
func handedOff(t *testing.T, fake *hermesfake.Fake, client *http.Client, base, session string) (*hermesfake.Handoff, *hermesfake.Run) {
	t.Helper()
	source, err := fake.Sources().Put(hermesfake.Source{ID: "message", Text: "a planted text"})
	if err != nil {
		t.Fatal(err)
	}
	_, handoff, err := fake.SupplyInput(t.Context(), hermesfake.SuppliedInput{ContactID: "anna", SessionID: session,
		Inputs: []hermesfake.InputParent{{SourceID: source.ID, InputMessageHash: source.InputMessageHash}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", base+"/v1/runs", strings.NewReader(`{"input": "a planted task", "session_id": "`+session+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(hermesfake.SuppliedInputHeader, handoff.ID())
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusAccepted {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	return handoff, fake.Runs().Last()
}

// TestPageOfDroppedInput proves that a namespace with supplied input can be dropped and reset while its page is open, which is told.
func TestPageOfDroppedInput(t *testing.T) {
	fake := hermesfake.New()
	t.Cleanup(fake.Close)
	world, err := fake.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	page := followPage(t, world.Client(), hermesfake.BaseURL+"/__admin/ui/updates")
	handedOff(t, world, world.Client(), hermesfake.BaseURL, "task")
	page.until("a scope", func(p inputPart) bool { return p.Known == 1 })
	if err := world.Reset(); err != nil {
		t.Fatal(err)
	}
	page.until("nothing", func(p inputPart) bool { return p.Known == 0 && p.Recorded == 0 })
	handedOff(t, world, world.Client(), hermesfake.BaseURL, "task")
	if err := fake.DropNamespace("other"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, page.in); err != nil {
		t.Errorf("the updates ended with %v", err)
	}
}

// TestPageOfQueueLeft: the page shows what an earlier fake left in the queue before anything is supplied to this one.
func TestPageOfQueueLeft(t *testing.T) {
	queue := suppliedinput.NewMemoryQueue()
	earlier := hermesfake.New(hermesfake.WithInputQueue(queue))
	_, run := handedOff(t, earlier, earlier.Client(), hermesfake.BaseURL, "task")
	run.Complete("x")
	earlier.Close()

	fake := hermesfake.New(hermesfake.WithInputQueue(queue))
	t.Cleanup(fake.Close)
	page := followPage(t, fake.Client(), hermesfake.BaseURL+"/__admin/ui/updates")
	if _, err := page.in.Peek(1); err != nil { // all there is comes at once
		t.Fatal(err)
	}
	fake.Close()
	page.until("the queue", func(p inputPart) bool { return p.Waiting == 1 && p.Known == 0 })
}
