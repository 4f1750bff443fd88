// Package canon reads and prints JSON exactly as CPython 3.11's json module
// does.
//
// It knows what Python knows about a document: integers and floats are
// different values, integers have any size, members keep their order, the last
// of several members of one name wins and stays at the place of the first, a
// surrogate may stand alone, NaN and the infinities are numbers.
//
// There are two printers. The wire printer ([AppendWire]) is json.dumps with
// its defaults. The canonical printer ([AppendCanonical]) is json.dumps with
// sort_keys=True, separators=(",", ":") and ensure_ascii=False, encoded as
// UTF-8. [Fingerprint] is the SHA-256 of a request in canonical form.
//
// [Parse] returns a [Value], which owns its memory and may be kept and shared.
// A [Document] is for the hot path: it refers to the bytes it was given and
// is reused without allocation.
//
// What is accepted is what json.loads accepts of a str that was decoded from
// strict UTF-8, with two bounds: arrays and objects nest at most [MaxDepth]
// deep, and a document has less than 4 GiB. Time and memory are linear in the
// length of the input, n log n in the number of an object's members.
package canon

import (
	"errors"
	"fmt"
)

// MaxDepth is how deep arrays and objects may nest. Python's own bound is its
// recursion limit of 1000 less the frames that are in use when the parser is
// called.
const MaxDepth = 950

// maxIntDigits is how many digits CPython converts to an int
// (sys.int_info.default_max_str_digits); the sign does not count.
const maxIntDigits = 4300

var (
	// ErrInvalid is what every [*SyntaxError] is.
	ErrInvalid = errors.New("canon: invalid JSON")

	// ErrSurrogate is returned where a text has to be encoded as UTF-8 and
	// cannot be, because it holds a surrogate that is not half of a pair.
	ErrSurrogate = errors.New("canon: a lone surrogate cannot be encoded as UTF-8; remove the \\ud800-\\udfff escape or complete the pair")
)

// SyntaxError says why a text is not JSON. errors.Is(err, ErrInvalid) is true
// for it.
type SyntaxError struct {
	Offset int    // where in the text, in bytes from 0
	Msg    string // what is wrong there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("canon: invalid JSON at byte %d: %s", e.Offset, e.Msg)
}

// Unwrap returns [ErrInvalid].
func (e *SyntaxError) Unwrap() error { return ErrInvalid }

func syntaxError(offset int, msg string) *SyntaxError {
	return &SyntaxError{Offset: offset, Msg: msg}
}
