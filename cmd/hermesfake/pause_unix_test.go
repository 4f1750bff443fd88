//go:build unix

package main

import (
	"os"
	"syscall"
)

// pause stops a process until goOn is called, so that its files stay as they are.
func pause(p *os.Process) (goOn func() error, err error) {
	return func() error { return p.Signal(syscall.SIGCONT) }, p.Signal(syscall.SIGSTOP)
}
