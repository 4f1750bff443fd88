package transport

import (
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/hermesfake/hermesfake/handler"
)

// address is where a request goes, as host:port.
type address string

func (a address) Network() string { return "tcp" }

func (a address) String() string { return string(a) }

func addressOf(u *url.URL) address {
	port := u.Port()
	switch {
	case port != "":
	case strings.EqualFold(u.Scheme, "https"):
		port = "443"
	default:
		port = "80"
	}
	return address(net.JoinHostPort(strings.ToLower(u.Hostname()), port))
}

// connectionError is the error of a real connection by which a reply got lost.
func connectionError(loss handler.Loss, u *url.URL) error {
	e := &net.OpError{Op: "read", Net: "tcp", Addr: addressOf(u), Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	if loss == handler.Refused {
		e.Op, e.Err = "dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)
	}
	return e
}
