package main

import (
	"net"
	"net/http"
	"sync"
)

// connections are the open ones of a server.
type connections struct {
	open sync.WaitGroup

	mu     sync.Mutex
	silent map[net.Conn]struct{} // those on which nothing has come yet
}

func newConnections() *connections {
	return &connections{silent: map[net.Conn]struct{}{}}
}

// changed is the server's ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateNew {
		c.open.Add(1)
		c.silent[conn] = struct{}{}
		return
	}
	delete(c.silent, conn)
	if state == http.StateClosed || state == http.StateHijacked {
		c.open.Done()
	}
}

// closeSilent closes the connections on which nothing has come. Shutdown would
// wait seconds for a request on them, and clients often open some ahead of need.
func (c *connections) closeSilent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.silent {
		conn.Close()
	}
}

// wait returns when every connection has been closed or hijacked. The server must have
// stopped to accept.
func (c *connections) wait() { c.open.Wait() }
