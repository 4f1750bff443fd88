package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// errNotLoopback says why an address is refused. Whoever reaches the server
// drives it, control plane included.
var errNotLoopback = errors.New("not a loopback address, and without an admin key anyone who reaches the server controls it; " +
	"use --host 127.0.0.1, or set --admin-key")

// listen opens the socket of serve. Unless the control plane is guarded by an
// admin key, the host must be a loopback address, or localhost, else the error wraps errNotLoopback.
func listen(ctx context.Context, host string, port int, guarded bool) (net.Listener, error) {
	if !guarded {
		address, err := loopback(ctx, host, net.DefaultResolver.LookupNetIP)
		if err != nil {
			return nil, err
		}
		// The address that was checked is listened on, not the name that led to it.
		host = address.String()
	}
	network := "tcp"
	if address, err := netip.ParseAddr(host); err == nil && address.Is4() {
		network = "tcp4" // so that the URL shows the address that was asked for
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, network, net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("%w; --port 0 picks a free port", err)
	}
	return listener, nil
}

// lookup finds the addresses of a name, as net.Resolver.LookupNetIP.
type lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

// loopback returns the address that host stands for. Of the addresses of
// localhost it prefers one of IPv4, and all must be loopback.
func loopback(ctx context.Context, host string, find lookup) (netip.Addr, error) {
	refused := fmt.Errorf("--host %q is %w", host, errNotLoopback)
	address, err := netip.ParseAddr(host)
	if err == nil {
		if address = address.Unmap(); !address.IsLoopback() {
			return netip.Addr{}, refused
		}
		return address, nil
	}
	if !strings.EqualFold(host, "localhost") {
		return netip.Addr{}, refused
	}
	found, err := find(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("--host %s cannot be resolved: %w; use --host 127.0.0.1", host, err)
	}
	for i, a := range found {
		if found[i] = a.Unmap(); !found[i].IsLoopback() {
			return netip.Addr{}, refused
		}
	}
	if len(found) == 0 {
		return netip.Addr{}, refused
	}
	if i := slices.IndexFunc(found, netip.Addr.Is4); i >= 0 {
		return found[i], nil
	}
	return found[0], nil
}
