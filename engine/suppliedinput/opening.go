package suppliedinput

import (
	"slices"
	"unicode/utf8"
)

// Bounds of an opening, in characters (code points) and in parents as they are given, before duplicates are folded.
const (
	MaxID          = 256
	MaxPlatform    = 64
	MaxRecallQuery = 32_768
	MaxParents     = 64
	hashDigits     = 64
)

// InputParent names a message of a person, exactly: the source, and the hash of its text.
type InputParent struct {
	SourceID         string `json:"source_id"`
	InputMessageHash string `json:"input_message_hash"`
}

// SourceParent names an inherited source, exactly. Versions count from 1.
type SourceParent struct {
	SourceID      string `json:"source_id"`
	SourceVersion int64  `json:"source_version"`
}

// Opening is what a host opens a scope with: in the session form SessionID, in the transport form Transport, Platform and
// perhaps RecallQuery.
type Opening struct {
	ContactID   string
	SessionID   string // the new native root session
	Transport   bool
	Platform    string
	RecallQuery *string // nil: none
	Inputs      []InputParent
	Sources     []SourceParent
}

// check returns the opening with its duplicates folded, or what is wrong with it.
func (o Opening) check() (Opening, error) {
	if err := checkText("contact_id", o.ContactID, MaxID); err != nil {
		return o, err
	}
	if o.Transport {
		if o.SessionID != "" {
			return o, invalid("session_id belongs to the session form; in the transport form the first root run brings it")
		}
		if err := checkText("platform", o.Platform, MaxPlatform); err != nil {
			return o, err
		}
		if o.RecallQuery != nil {
			if err := checkText("recall_query", *o.RecallQuery, MaxRecallQuery); err != nil {
				return o, err
			}
		}
	} else {
		if o.Platform != "" || o.RecallQuery != nil {
			return o, invalid("platform and recall_query belong to the transport form")
		}
		if err := checkText("session_id", o.SessionID, MaxID); err != nil {
			return o, err
		}
	}
	if n := len(o.Inputs); n < 1 || n > MaxParents {
		return o, invalid("there must be 1 to %d input parents, not %d", MaxParents, n)
	}
	if n := len(o.Sources); n > MaxParents {
		return o, invalid("there must be at most %d source parents, not %d", MaxParents, n)
	}
	for _, p := range o.Inputs {
		if err := p.check(); err != nil {
			return o, err
		}
	}
	for _, p := range o.Sources {
		if err := p.check(); err != nil {
			return o, err
		}
	}
	o.Inputs, o.Sources = fold(o.Inputs), fold(o.Sources)
	return o, nil
}

func (p InputParent) check() error {
	if err := checkText("source_id", p.SourceID, MaxID); err != nil {
		return err
	}
	return checkHash(p.InputMessageHash)
}

func (p SourceParent) check() error {
	if err := checkText("source_id", p.SourceID, MaxID); err != nil {
		return err
	}
	if p.SourceVersion < 1 {
		return invalid("source_version must be 1 or more, not %d", p.SourceVersion)
	}
	return nil
}

func checkHash(hash string) error {
	wrong := len(hash) != hashDigits
	for i := range len(hash) {
		c := hash[i]
		wrong = wrong || !('0' <= c && c <= '9' || 'a' <= c && c <= 'f')
	}
	if wrong {
		return invalid("input_message_hash must be exactly %d lowercase hexadecimal digits", hashDigits)
	}
	return nil
}

// checkText checks a text without ever showing it.
func checkText(name, text string, most int) error {
	if !utf8.ValidString(text) {
		return invalid("%s must be valid Unicode", name)
	}
	if n := utf8.RuneCountInString(text); n < 1 || n > most {
		return invalid("%s must have 1 to %d characters, not %d", name, most, n)
	}
	return nil
}

// fold returns a copy without the repetitions, in the order of the first ones.
func fold[P comparable](parents []P) []P {
	folded := make([]P, 0, len(parents))
	for _, p := range parents {
		if !slices.Contains(folded, p) {
			folded = append(folded, p)
		}
	}
	return folded
}
