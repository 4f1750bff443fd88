package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// The reply of one submission is lost after the run was admitted.
func ExampleSubmitAcceptedDrop() {
	hermes := hermesfake.New()
	hermes.Inject(faults.SubmitAcceptedDrop())

	_, err := hermes.Client().Post(hermesfake.BaseURL+"/v1/runs", "", strings.NewReader(`{"input": "hi"}`))
	fmt.Println(errors.Is(err, syscall.ECONNRESET), len(hermes.Runs()), "run")
	// Output: true 1 run
}

// A rule of one's own: every third poll or so is answered 500.
func ExampleRule() {
	hermes := hermesfake.New(hermesfake.WithSeed(43))
	hermes.Inject(faults.Rule{Operation: hermesfake.RunGet, Status: 500, Rate: 0.33, Body: `{"error": "oops"}`})

	for range 8 {
		res, _ := hermes.Client().Get(hermesfake.BaseURL + "/v1/runs/run_1")
		fmt.Print(res.StatusCode, " ")
	}
	fmt.Println("and", hermes.Faults()[0].Hits, "hits")
	// Output: 500 404 404 500 404 500 500 404 and 4 hits
}
