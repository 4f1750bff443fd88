package suppliedinput

import (
	"slices"
	"time"
)

// VerificationFailure is how the verification of a source fails.
type VerificationFailure string

// The failures. The first three mean that verification could not be reached, the others that it said no.
const (
	Timeout             VerificationFailure = "timeout"
	RemoteProtocolError VerificationFailure = "remote_protocol_error"
	HTTP503             VerificationFailure = "http_503"
	HTTP401             VerificationFailure = "http_401"
	HTTP403             VerificationFailure = "http_403"
	UnknownFailure      VerificationFailure = "unknown"
)

var verificationFailures = []VerificationFailure{Timeout, RemoteProtocolError, HTTP503, HTTP401, HTTP403, UnknownFailure}

func (f VerificationFailure) reason() Reason {
	switch f {
	case "":
		return ""
	case Timeout, RemoteProtocolError, HTTP503:
		return FreshnessUnavailable
	}
	return Unavailable
}

// Verification scripts the next verifications: those of a source, or of any.
type Verification struct {
	SourceID string              // "": whatever is verified
	Failure  VerificationFailure // "": none, it is only slow
	Times    int                 // how often; 0: until ClearVerifications
	Takes    time.Duration       // how long it lasts on the fake's clock
}

type rule struct{ Verification }

// SetVerification adds a script of verifications. The first that fits is used, once for each check or revalidation, until it is
// used up. One that makes no sense wraps ErrInvalid.
func (s *Space) SetVerification(v Verification) error {
	s.mu.Lock()
	defer s.unlock()
	if v.SourceID != "" {
		if err := checkText("source_id", v.SourceID, MaxID); err != nil {
			return err
		}
	}
	switch {
	case v.Failure != "" && !slices.Contains(verificationFailures, v.Failure):
		return invalid("failure must be one of %v", verificationFailures)
	case v.Times < 0:
		return invalid("times must not be negative")
	case v.Takes < 0:
		return invalid("takes must not be negative")
	case v.Failure == "" && v.Takes == 0:
		return invalid("a verification needs a failure, a time that it takes, or both")
	case len(s.state.rules) >= maxRules:
		return ErrFull
	}
	s.state.rules = append(s.state.rules, rule{v})
	return nil
}

// ClearVerifications removes the scripts of a source, or with "" all of them.
func (s *Space) ClearVerifications(sourceID string) {
	s.mu.Lock()
	defer s.unlock()
	s.state.rules = slices.DeleteFunc(s.state.rules, func(r rule) bool { return sourceID == "" || r.SourceID == sourceID })
}

// Verifications returns the scripts that are not used up; Times is what is left of each.
func (s *Space) Verifications() []Verification {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Verification, 0, len(s.state.rules))
	for _, r := range s.state.rules {
		list = append(list, r.Verification)
	}
	return list
}

// verification is one call of the verification of all parents.
type verification struct {
	failure VerificationFailure
	takes   time.Duration
}

// verify begins the verification of parents, and uses up a script.
func (s *state) verify(inputs []InputParent, sources []SourceParent) verification {
	for i := range s.rules {
		r := &s.rules[i]
		if !r.fits(inputs, sources) {
			continue
		}
		v := verification{r.Failure, r.Takes}
		if r.Times == 1 {
			s.rules = slices.Delete(s.rules, i, i+1)
		} else if r.Times > 1 {
			r.Times--
		}
		return v
	}
	return verification{}
}

func (r *rule) fits(inputs []InputParent, sources []SourceParent) bool {
	return r.SourceID == "" || depends(map[string]bool{r.SourceID: true}, inputs, sources)
}

// verified ends a verification: the reason is "" where every parent is exactly what it was named as, and an input is not what the
// assistant wrote.
func (s *state) verified(v verification, inputs []InputParent, sources []SourceParent) Reason {
	if s.isErased(inputs, sources) {
		return Erased
	}
	if v.failure != "" {
		return v.failure.reason()
	}
	for _, p := range inputs {
		if known := s.sources[p.SourceID]; known == nil || known.Assistant || known.InputMessageHash != p.InputMessageHash {
			return Unavailable
		}
	}
	for _, p := range sources {
		if known := s.sources[p.SourceID]; known == nil || known.Version != p.SourceVersion {
			return Unavailable
		}
	}
	return ""
}
