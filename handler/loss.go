package handler

import (
	"io"
	"net"
	"net/http"
)

// Loss says how a reply gets lost on its way.
type Loss uint8

// What becomes of replies.
const (
	// NotLost: the reply arrives.
	NotLost Loss = iota
	// Reset: the connection is reset after the request, in place of a reply.
	Reset
	// Refused: there is no connection. A server that has accepted one already resets it at once.
	Refused
)

// Lost returns the reply that a client does not get. The journal shows it with
// status 0.
func Lost(how Loss) *Reply { return &Reply{Loss: how} }

// lose resets the connection, so that the client gets no reply.
func lose(w http.ResponseWriter, r *http.Request, how Loss) {
	if how == Reset && r.Body != nil {
		// A client that still sends would learn of the reset by a failed write, in one
		// of several ways.
		io.CopyN(io.Discard, r.Body, maxBody+1)
	}
	conn := seize(w)
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// sever closes the connection in the middle of a reply. What was written
// before still arrives, which a reset would not let it do for sure.
func sever(w http.ResponseWriter) { seize(w).Close() }

// seize takes the connection from the server. Where that cannot be done, it
// ends the handler with http.ErrAbortHandler, which middleware must let pass.
func seize(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	// Under TLS the bare connection closes without a farewell.
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return secure.NetConn()
	}
	return conn
}
