package hermesfake_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/hermesfake/hermesfake"
)

// The client's transport is the fake: no port, no network.
func Example() {
	hermes := hermesfake.New()
	client := &http.Client{Transport: hermes}
	res, err := client.Post("http://localhost:8642/v1/runs", "application/json", strings.NewReader(`{"input": "hello"}`))
	run := hermes.Runs().Last()
	run.Complete("Hello!")
	fmt.Println(res.Status, err, run.Status())
	// Output: 202 Accepted <nil> completed
}

// Under a test's mux, beside whatever else it serves.
func ExampleFake_Handler() {
	hermes := hermesfake.New()
	mux := http.NewServeMux()
	mux.Handle("/hermes/", http.StripPrefix("/hermes", hermes.Handler()))
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "welcome") })
	server := httptest.NewServer(mux)
	defer server.Close()

	res, _ := http.Get(server.URL + "/hermes/health")
	body, _ := io.ReadAll(res.Body)
	fmt.Println(string(body))
	// Output: {"status": "ok", "platform": "hermes-agent", "version": "0.21.0"}
}

// A script is the agent, in the test's words.
func ExampleFake_Script() {
	hermes := hermesfake.New()
	defer hermes.Close()
	hermes.Script(func(ctx context.Context, run *hermesfake.Run) {
		run.Start()
		switch run.AskApproval(ctx, hermesfake.Approval{Command: "rm -rf build"}) {
		case hermesfake.Deny:
			run.Fail("denied")
		case "": // nobody answered: a stop, say, which cancels the run
		default:
			run.Complete("done")
		}
	})
	client := hermes.Client()
	client.Post(hermesfake.BaseURL+"/v1/runs", "", strings.NewReader(`{"input": "clean up"}`))

	ctx := context.Background()
	run := hermes.Runs().Last()
	run.WaitStatus(ctx, hermesfake.WaitingForApproval)
	client.Post(hermesfake.BaseURL+"/v1/runs/"+run.ID()+"/approval", "", strings.NewReader(`{"choice": "deny"}`))
	status, _ := run.WaitSettled(ctx)
	fmt.Println(status)
	// Output: failed
}

// Parallel tests share one fake and keep apart by namespace.
func ExampleFake_Namespace() {
	hermes := hermesfake.New()
	alice, _ := hermes.Namespace("alice")
	bob, _ := hermes.Namespace("bob")

	alice.Client().Post(hermesfake.BaseURL+"/v1/runs", "", strings.NewReader(`{"input": "hi"}`))
	fmt.Println(len(alice.Runs()), len(bob.Runs()))
	// Output: 1 0
}

// A frozen clock moves by hand, and what falls due happens on the way.
func ExampleFake_Advance() {
	hermes := hermesfake.New(hermesfake.WithFrozenClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	client := hermes.Client()
	client.Post(hermesfake.BaseURL+"/v1/runs", "", strings.NewReader(`{"input": "hi"}`))
	run := hermes.Runs().Last()
	run.Complete("done")

	hermes.Advance(2 * time.Hour) // the cache forgets settled runs after an hour
	res, _ := client.Get(hermesfake.BaseURL + "/v1/runs/" + run.ID())
	fmt.Println(res.StatusCode)
	// Output: 404
}

// After a restart, keyed runs come back from their rows and unfinished ones
// are interrupted; keyless runs are gone.
func ExampleFake_Restart() {
	hermes := hermesfake.New()
	client := hermes.Client()
	submit := func(key string) *hermesfake.Run {
		r, _ := http.NewRequest("POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(`{"input": "hi"}`))
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		client.Do(r)
		return hermes.Runs().Last()
	}
	keyed, keyless := submit("order-7"), submit("")
	retained, discarded := hermes.Restart(hermesfake.OwnerStale)
	fmt.Println(retained, "kept,", discarded, "lost")

	for _, run := range []*hermesfake.Run{keyed, keyless} {
		res, _ := client.Get(hermesfake.BaseURL + "/v1/runs/" + run.ID())
		fmt.Println(res.StatusCode, run.Status())
	}
	// Output:
	// 1 kept, 1 lost
	// 200 interrupted
	// 404 unknown
}

// The journal tells what arrived.
func ExampleFake_Requests() {
	hermes := hermesfake.New()
	client := hermes.Client()
	client.Post(hermesfake.BaseURL+"/v1/runs", "", strings.NewReader(`{"input": "hi"}`))
	client.Get(hermesfake.BaseURL + "/v1/runs/" + hermes.Runs().Last().ID())

	fmt.Println(hermes.Requests().CountByOperation(hermesfake.RunStop), "stops")
	fmt.Println(hermes.Requests().Last().Operation, hermes.Requests().Last().Status)
	// Output:
	// 0 stops
	// RunGet 200
}

// Events stream in process as they are emitted.
func ExampleRun_Delta() {
	hermes := hermesfake.New(hermesfake.WithFrozenClock(time.Unix(1700000000, 0)))
	client := hermes.Client()
	client.Post(hermesfake.BaseURL+"/v1/runs", "", strings.NewReader(`{"input": "hi"}`))
	run := hermes.Runs().Last()
	res, _ := client.Get(hermesfake.BaseURL + "/v1/runs/" + run.ID() + "/events")
	lines := bufio.NewScanner(res.Body)

	run.Delta("Hel")
	lines.Scan()
	fmt.Println(strings.ReplaceAll(lines.Text(), run.ID(), "ID"))
	run.Complete("Hello")
	for lines.Scan() {
		if lines.Text() != "" {
			fmt.Println(strings.ReplaceAll(lines.Text(), run.ID(), "ID"))
		}
	}
	// Output:
	// data: {"event": "message.delta", "run_id": "ID", "timestamp": 1700000000.0, "delta": "Hel"}
	// data: {"event": "run.completed", "run_id": "ID", "timestamp": 1700000000.0, "output": "Hello", "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}}
	// : stream closed
}
