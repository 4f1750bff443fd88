package faults_test

import (
	"io"
	"sync"
)

// pipe is a request's body that tells when it is first read, and has content
// once it is given some.
type pipe struct {
	*io.PipeReader
	once sync.Once
	read chan struct{}
}

func newPipe() (*pipe, func(content string)) {
	r, w := io.Pipe()
	return &pipe{PipeReader: r, read: make(chan struct{})}, func(content string) {
		io.WriteString(w, content)
		w.Close()
	}
}

func (p *pipe) Read(b []byte) (int, error) {
	p.once.Do(func() { close(p.read) })
	return p.PipeReader.Read(b)
}
