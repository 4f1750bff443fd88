package engine

import (
	"errors"
	"unicode/utf8"

	"github.com/hermesfake/hermesfake/canon"
)

const (
	maxKey        = 255 // characters
	maxSessionKey = 256 // code points
)

// Submission is a valid request for a run: steps 4 to 7 of the provider's
// checks are behind it. It holds none of the prompt.
type Submission struct {
	Key         string      // idempotency key, "" for none
	Fingerprint [32]byte    // of body and session key; only computed where there is a key
	SessionID   canon.Value // nil where the body's is false in Python's eyes
	Model       canon.Value // nil where the body has none
}

// ReadSessionKey checks the value of X-Hermes-Session-Key, raw bytes of UTF-8,
// and returns it trimmed. It fails with SessionKeyInvalid, SessionKeyTooLong or
// Unsupported.
func ReadSessionKey(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	if !utf8.ValidString(raw) {
		return "", &Refusal{Reason: Unsupported, Subject: "a session key that is not UTF-8"}
	}
	key := canon.Strip(raw)
	for i := range len(key) {
		if c := key[i]; c == '\r' || c == '\n' || c == 0 {
			return "", refuse(SessionKeyInvalid)
		}
	}
	if utf8.RuneCountInString(key) > maxSessionKey {
		return "", refuse(SessionKeyTooLong)
	}
	return key, nil
}

// ReadSubmission checks a submission's body and idempotency key in the
// provider's order. sessionKey is what ReadSessionKey returned, idempotencyKey
// the raw header value.
func ReadSubmission(body []byte, sessionKey, idempotencyKey string) (Submission, error) {
	doc := canon.Get()
	defer doc.Release()
	if err := doc.Parse(body); err != nil {
		return Submission{}, refuse(InvalidJSON)
	}
	root := doc.Root()
	for _, name := range [...]string{"hosted_room_dispatch", "_room_execution_policy"} {
		if _, ok := root.Member(name); ok {
			return Submission{}, &Refusal{Reason: Unsupported, Subject: "hosted rooms (" + name + ")"}
		}
	}
	key, err := readKey(idempotencyKey)
	if err != nil {
		return Submission{}, err
	}
	s := Submission{Key: key}
	if key != "" {
		s.Fingerprint, err = doc.Fingerprint(sessionKey)
		if errors.Is(err, canon.ErrSurrogate) {
			return Submission{}, &Refusal{Reason: Unsupported, Subject: "a keyed submission with a lone surrogate"}
		}
		if err != nil {
			return Submission{}, refuse(InvalidJSON)
		}
	}
	if root.Kind() != canon.KindObject {
		return Submission{}, &Refusal{Reason: Unsupported, Subject: "a submission that is no JSON object"}
	}
	if err := checkInput(root); err != nil {
		return Submission{}, err
	}
	if err := checkHistory(root); err != nil {
		return Submission{}, err
	}
	if v, ok := root.Member("session_id"); ok && v.True() {
		s.SessionID = v.Value()
	}
	if v, ok := root.Member("model"); ok {
		s.Model = v.Value()
	}
	return s, nil
}

// readKey trims and checks an idempotency key (vectors: idempotency.json,
// idempotency-key-validation).
func readKey(raw string) (string, error) {
	key := canon.Strip(raw)
	if len(key) > maxKey {
		return "", refuse(KeyInvalid)
	}
	for i := range len(key) {
		if key[i] < 33 || key[i] > 126 {
			return "", refuse(KeyInvalid)
		}
	}
	return key, nil
}

func checkInput(root canon.Node) error {
	input, _ := root.Member("input")
	if !input.True() {
		return refuse(InputMissing)
	}
	switch input.Kind() {
	case canon.KindString:
		return nil
	case canon.KindArray:
		last, _ := input.Last()
		if last.Kind() != canon.KindObject {
			return &Refusal{Reason: Unsupported, Subject: "a last input item that is no JSON object"}
		}
		if content, _ := last.Member("content"); content.True() {
			return nil
		}
	}
	return refuse(InputWithoutMessage)
}

func checkHistory(root canon.Node) error {
	history, _ := root.Member("conversation_history")
	if !history.True() {
		return nil
	}
	if history.Kind() != canon.KindArray {
		return refuse(HistoryNotArray)
	}
	for i, item := range history.Items {
		_, role := item.Member("role")
		_, content := item.Member("content")
		if !role || !content {
			return &Refusal{Reason: HistoryItem, N: i}
		}
	}
	return nil
}
