package vector

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// absentUnlessListed are the headers whose mere presence tells a client something.
var absentUnlessListed = []string{"Idempotency-Replayed", "Retry-After", "X-Hermes-Session-Key"}

// checkHead compares the status, and of the headers those that the recording lists or that must be absent.
func checkHead(want Expect, reply *http.Response) error {
	var differences []error
	if reply.StatusCode != want.Status {
		differences = append(differences, fmt.Errorf("status %d, want %d", reply.StatusCode, want.Status))
	}
	for _, name := range slices.Sorted(maps.Keys(want.Header)) {
		value, got := want.Header[name], reply.Header.Values(name)
		same := slices.Equal(got, []string{value})
		if name == "Allow" {
			same = slices.Equal(methods(got...), methods(value))
		}
		if !same {
			differences = append(differences, fmt.Errorf("header %s %q, want %q", name, got, value))
		}
	}
	for _, name := range absentUnlessListed {
		if _, listed := want.Header[name]; listed {
			continue
		}
		if got := reply.Header.Values(name); len(got) > 0 {
			differences = append(differences, fmt.Errorf("header %s %q, want none", name, got))
		}
	}
	return errors.Join(differences...)
}

// methods is the set of methods in the values of Allow, sorted.
func methods(values ...string) []string {
	var all []string
	for method := range strings.SplitSeq(strings.Join(values, ","), ",") {
		all = append(all, strings.TrimSpace(method))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// checkBody compares byte for byte.
func checkBody(want string, got []byte) error {
	if bytes.Equal(got, []byte(want)) {
		return nil
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	return fmt.Errorf("body differs at byte %d\n got %q\nwant %q", at, got, want)
}
