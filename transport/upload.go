package transport

import (
	"context"
	"io"
	"sync"
)

// upload is a request's body that is closed once, and early if the context
// ends, so that a Read that blocks does not outlast it.
type upload struct {
	io.ReadCloser
	once sync.Once
}

func (u *upload) Close() (err error) {
	u.once.Do(func() { err = u.ReadCloser.Close() })
	return err
}

// end closes the upload when the context ends. What it returns closes it
// too, and returns when nobody closes it any more.
func (u *upload) end(ctx context.Context) func() {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		u.Close()
	})
	return func() {
		if !stop() {
			<-closed
		}
		u.Close()
	}
}
