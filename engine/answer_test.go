package engine

import (
	"errors"
	"strings"
	"testing"
)

// TestCharactersAreCodePoints proves that bounds in characters count a lone surrogate as one, as Python does.
func TestCharactersAreCodePoints(t *testing.T) {
	const lone = `\ud800`
	for _, c := range []struct {
		id string
		ok bool
	}{
		{strings.Repeat("x", 256), true}, {strings.Repeat("x", 257), false},
		{strings.Repeat("é", 256), true}, {strings.Repeat("é", 257), false},
		{strings.Repeat("😀", 256), true}, {strings.Repeat("😀", 257), false},
		{strings.Repeat(lone, 256), true}, {strings.Repeat(lone, 257), false},
		{strings.Repeat(" ", 500) + "x\u3000", true}, {" \u0085", false},
	} {
		_, err := ReadAnswer([]byte(`{"choice": "once", "request_id": "` + c.id + `"}`))
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ApprovalRequestInvalid) {
			t.Errorf("%.20s of %d bytes: %v", c.id, len(c.id), err)
		}
	}
	for text, want := range map[string]string{
		strings.Repeat("é", 65537):        strings.Repeat("é", 65536),
		strings.Repeat("x", 65535) + lone: strings.Repeat("x", 65535) + "\xed\xa0\x80",
		strings.Repeat("x", 65536) + lone: strings.Repeat("x", 65536),
		strings.Repeat(lone, 30_000):      strings.Repeat("\xed\xa0\x80", 30_000),
	} {
		if got, err := ReadSteer([]byte(`{"text": ["` + text + `"]}`)); err != nil || got != want {
			t.Errorf("%.20s: %d bytes, want %d; %v", text, len(got), len(want), err)
		}
	}
}

// TestAllTakesItsWordsOnly proves what makes an answer one to all pending approvals: a true boolean or number, or one of
// the words for true; what is neither a boolean, a number nor a string does not.
func TestAllTakesItsWordsOnly(t *testing.T) {
	for value, want := range map[string]bool{
		`true`: true, `1`: true, `-2`: true, `0.5`: true, `"1"`: true, `" Yes "`: true, `"ON"`: true, `"true"`: true, `NaN`: true,
		`false`: false, `0`: false, `0.0`: false, `"0"`: false, `"off"`: false, `""`: false, `"all"`: false, `null`: false,
		`[]`: false, `{}`: false, `[1]`: false, `{"a": 1}`: false,
	} {
		for _, name := range []string{"all", "resolve_all"} {
			a, err := ReadAnswer([]byte(`{"choice": "once", "` + name + `": ` + value + `}`))
			if err != nil || a.All != want {
				t.Errorf("%s %s: %t %v", name, value, a.All, err)
			}
		}
	}
}

func TestChoices(t *testing.T) {
	for value, want := range map[string]Choice{
		`"once"`: Once, `" ONCE\u3000"`: Once, `"approve"`: Once, `"Approved"`: Once, `"allow"`: Once, `"session"`: Session,
		`"Always"`: Always, `"deny"`: Deny,
		`"nope"`: "", `""`: "", `"once "`: Once, `"o nce"`: "", `"\u017fession"`: "", `"yes"`: "", `"denied"`: "",
		`null`: "", `true`: "", `1`: "", `["once"]`: "", `{}`: "",
	} {
		a, err := ReadAnswer([]byte(`{"choice": ` + value + `}`))
		if a.Choice != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, ApprovalChoiceInvalid) {
			t.Errorf("%s: %q %v", value, a.Choice, err)
		}
	}
	for body, want := range map[string]Reason{
		``: InvalidJSON, `{`: InvalidJSON, `[]`: Unsupported, `null`: Unsupported, `{}`: ApprovalChoiceInvalid,
		`{"request_id": ""}`: ApprovalRequestInvalid, `{"request_id": 0, "choice": "once"}`: ApprovalRequestInvalid,
		`{"request_id": null}`: ApprovalChoiceInvalid, `{"request_id": false, "choice": "once"}`: ApprovalRequestInvalid,
	} {
		if _, err := ReadAnswer([]byte(body)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", body, err, want)
		}
	}
}
