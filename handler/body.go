package handler

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// maxBody bounds a request's body, in bytes, as the provider does.
const maxBody = 10_000_000

// maxEmptyReads is how often a body may give nothing in a row.
const maxEmptyReads = 100

// keptBuffer is the largest buffer that goes back to the pool.
const keptBuffer = 64 << 10

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// buffer is a body read whole.
type buffer struct {
	bytes []byte
}

func (b *buffer) release() {
	if cap(b.bytes) <= keptBuffer {
		buffers.Put(b)
	}
}

// errTooLarge says that a body of undeclared length was over maxBody.
var errTooLarge = errors.New("request body too large")

// readBody reads the request's body whole. The caller releases the buffer when
// nothing refers to it any more.
func readBody(r *http.Request) (*buffer, error) {
	b := buffers.Get().(*buffer)
	b.bytes = b.bytes[:0]
	if r.Body == nil {
		return b, nil
	}
	for empty := 0; ; {
		if len(b.bytes) == cap(b.bytes) {
			b.bytes = append(b.bytes, 0)[:len(b.bytes)]
		}
		n, err := r.Body.Read(b.bytes[len(b.bytes):min(cap(b.bytes), maxBody+1)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if len(b.bytes) > maxBody {
			return nil, errTooLarge
		}
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		if empty++; n > 0 {
			empty = 0
		}
		if empty == maxEmptyReads {
			return nil, io.ErrNoProgress
		}
	}
}
