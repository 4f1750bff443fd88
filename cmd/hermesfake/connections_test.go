package main

import (
	"net"
	"net/http"
	"testing"
	"testing/synctest"
)

// TestConnections: wait is for those that were neither closed nor hijacked.
func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnections()
		one, other := net.Pipe()
		c.changed(one, http.StateNew)
		c.changed(other, http.StateNew)
		waited := make(chan struct{})
		go func() {
			c.wait()
			close(waited)
		}()
		for _, change := range []struct {
			conn  net.Conn
			state http.ConnState
		}{
			{one, http.StateActive}, {one, http.StateIdle}, {one, http.StateClosed},
			{other, http.StateActive}, {other, http.StateHijacked},
		} {
			synctest.Wait()
			select {
			case <-waited:
				t.Fatalf("wait returned before %v", change.state)
			default:
			}
			c.changed(change.conn, change.state)
		}
		<-waited
	})
}
