package model

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/canon"
)

// TestWalkReaches proves that the generator leaves no rule of the contract aside: every reply and every kind of thing
// a subscriber can be given comes up.
func TestWalkReaches(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(60) {
		m := New(WalkStart, WalkCapacity)
		var ids []string
		points := map[string][]string{}
		for _, c := range Walk(rand.New(rand.NewPCG(seed, 0)), 300) {
			newRunID := fmt.Sprintf("run_%032x", len(ids))
			r := m.Do(c, func(i int) string { return ids[i] }, newRunID)
			switch {
			case r.Status == 202 && r.Header["Idempotency-Replayed"] == "":
				ids = append(ids, newRunID)
			case c.Do == "checkpoint":
				points[c.As] = slices.Clone(ids)
			case c.Do == "checkout":
				ids = slices.Clone(points[c.As])
			}
			seen[strings.TrimSpace(c.Do+" "+answered(t, c, r))]++
			for _, as := range m.Subscribers() {
				got, ended := m.Take(as)
				for _, kind := range []string{"data", ": keepalive", ": stream closed"} {
					if strings.Contains(got, kind) {
						seen["given "+kind]++
					}
				}
				if ended && got == ": stream closed\n\n" {
					seen["given the end marker alone"]++
				}
			}
		}
	}
	for _, want := range []string{
		"request POST runs 202", "request POST runs 202 replayed", "request POST runs 400", "request POST runs 409 idempotency_key_conflict",
		"request POST runs 429 rate_limit_exceeded", "request POST runs 503 gateway_draining", "request POST runs 501",
		"request POST runs 400 invalid_idempotency_key",
		"request GET run 200", "request GET run 404 run_not_found", "request HEAD run 200",
		"request POST stop 200", "request POST stop 404 run_not_found", "request POST stop 409 run_not_active",
		"request POST approval 200", "request POST approval 400", "request POST approval 400 invalid_approval_request",
		"request POST approval 400 invalid_approval_choice", "request POST approval 404 run_not_found",
		"request POST approval 409 approval_not_active", "request POST approval 409 approval_not_pending",
		"request POST approval 501",
		"request POST steer 200", "request POST steer 400", "request POST steer 400 invalid_steer_input",
		"request POST steer 404 run_not_found", "request POST steer 409 run_not_accepting_steer",
		"request POST steer 409 steer_not_accepted", "request POST steer 500 steer_failed",
		"request GET events 200", "request GET events 404 run_not_found", "request HEAD events 200", "request HEAD events 404",
		"subscribe 200", "subscribe 404 run_not_found", "disconnect", "start", "complete", "fail", "cancelled", "delta", "event",
		"approval", "steer_policy", "advance", "sweep", "capacity", "draining", "restart", "scope",
		"checkpoint", "checkout",
		"given data", "given : keepalive", "given : stream closed", "given the end marker alone",
	} {
		if seen[want] == 0 {
			t.Errorf("never: %s", want)
		}
		delete(seen, want)
	}
	for other, n := range seen {
		t.Logf("also %d times: %s", n, other)
	}
}

// answered names a reply by route, status and code.
func answered(t *testing.T, c Command, r Reply) string {
	if r.Status == 0 {
		return ""
	}
	route := ""
	if c.Do == "request" {
		route = "run"
		for _, action := range []string{"stop", "approval", "steer", "events", "runs"} {
			if strings.HasSuffix(c.Path, "/"+action) {
				route = action
			}
		}
		route = c.Method + " " + route + " "
	}
	name := fmt.Sprint(route, r.Status)
	if r.Header["Idempotency-Replayed"] != "" {
		name += " replayed"
	}
	if strings.HasPrefix(r.Body, "{") {
		v, err := canon.Parse([]byte(r.Body))
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := v.(canon.Object).Get("error"); ok {
			if e, ok := e.(canon.Object); ok {
				code, _ := e.Get("code")
				if s, ok := code.(canon.String); ok {
					name += " " + string(s)
				}
			}
		}
	}
	return name
}

func TestWalkRepeats(t *testing.T) {
	walk := func(seed uint64) []Command { return Walk(rand.New(rand.NewPCG(seed, 0)), 200) }
	if len(walk(1)) != 200 {
		t.Error("not the number of commands asked for")
	}
	if !reflect.DeepEqual(walk(1), walk(1)) {
		t.Error("one seed gives two walks")
	}
	if reflect.DeepEqual(walk(1), walk(2)) {
		t.Error("two seeds give one walk")
	}
}
