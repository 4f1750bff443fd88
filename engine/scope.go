package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// The scope of requests when nothing else was said: upstream's profile and
// the identity it gives to a listener without a key.
const (
	DefaultProfile  = "default"
	DefaultIdentity = "unauthenticated-test-listener"
)

// ErrScope is wrapped by the errors of NewScope.
var ErrScope = errors.New("scope")

// Scope is whose runs a request may see. Runs of another scope are not found,
// and the same idempotency key in another scope is another key.
type Scope struct {
	profile  string
	identity string
	hash     [sha256.Size]byte
}

// NewScope returns the scope of a profile and an identity, both nonempty and
// without NUL.
func NewScope(profile, identity string) (*Scope, error) {
	for _, part := range []struct{ name, text string }{{"profile", profile}, {"identity", identity}} {
		if part.text == "" || strings.ContainsRune(part.text, 0) {
			return nil, fmt.Errorf("%w: %s: must be a nonempty string without NUL", ErrScope, part.name)
		}
	}
	return newScope(profile, identity), nil
}

func newScope(profile, identity string) *Scope {
	return &Scope{profile, identity, sha256.Sum256([]byte(profile + "\x00" + identity))}
}

// Profile is the first half of what selects the scope.
func (s *Scope) Profile() string { return s.profile }

// Identity is the second half of what selects the scope.
func (s *Scope) Identity() string { return s.identity }

// Hash is the provider's name for the scope: the SHA-256 of profile, NUL and
// identity, in lowercase hexadecimal digits.
func (s *Scope) Hash() string { return hex.EncodeToString(s.hash[:]) }

func (s *Scope) same(o *Scope) bool { return s == o || s.hash == o.hash }

// keyHash stands for an idempotency key within a scope: half of a SHA-256, which is
// enough to tell keys apart. The key's text came in a header and is kept nowhere.
type keyHash [16]byte

func (s *Scope) key(text string) keyHash {
	var b [sha256.Size + maxKey]byte
	whole := sha256.Sum256(append(append(b[:0], s.hash[:]...), text...))
	return keyHash(whole[:len(keyHash{})])
}
