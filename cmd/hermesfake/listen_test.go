package main

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestLoopback(t *testing.T) {
	never := func(_ context.Context, _, host string) ([]netip.Addr, error) {
		t.Errorf("%q was looked up", host)
		return nil, nil
	}
	for _, c := range []struct{ host, want string }{ // "" is refused
		{"127.0.0.1", "127.0.0.1"},
		{"127.255.255.254", "127.255.255.254"},
		{"::1", "::1"},
		{"0:0:0:0:0:0:0:1", "::1"},
		{"::ffff:127.0.0.1", "127.0.0.1"},
		{"", ""},
		{"0.0.0.0", ""},
		{"::", ""},
		{"::ffff:0.0.0.0", ""},
		{"128.0.0.1", ""},
		{"10.0.0.1", ""},
		{"fe80::1", ""},
		{"*", ""},
		{"127.1", ""},
		{"[::1]", ""},
		{"hermes.test", ""},
		{"localhost.hermes.test", ""},
	} {
		got, err := loopback(t.Context(), c.host, never)
		if c.want == "" {
			if !errors.Is(err, errNotLoopback) || !strings.Contains(err.Error(), c.host) {
				t.Errorf("%q: address %v, error %v", c.host, got, err)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%q: address %v, error %v", c.host, got, err)
		}
	}
}

// TestLoopbackName: localhost is taken for what it resolves to.
func TestLoopbackName(t *testing.T) {
	for _, c := range []struct {
		host, found, want string // "" is refused
	}{
		{"localhost", "127.0.0.1", "127.0.0.1"},
		{"LocalHost", "127.0.0.1", "127.0.0.1"},
		{"localhost", "::1 127.0.0.1", "127.0.0.1"},
		{"localhost", "::1", "::1"},
		{"localhost", "::ffff:127.0.0.1", "127.0.0.1"},
		{"localhost", "127.0.0.1 192.0.2.1", ""},
		{"localhost", "192.0.2.1", ""},
		{"localhost", "", ""},
	} {
		find := func(context.Context, string, string) (found []netip.Addr, err error) {
			for _, a := range strings.Fields(c.found) {
				found = append(found, netip.MustParseAddr(a))
			}
			return found, nil
		}
		got, err := loopback(t.Context(), c.host, find)
		if c.want == "" && !errors.Is(err, errNotLoopback) || c.want != "" && (err != nil || got.String() != c.want) {
			t.Errorf("%s at %q: address %v, error %v", c.host, c.found, got, err)
		}
	}
	unknown := errors.New("no such host")
	_, err := loopback(t.Context(), "localhost", func(context.Context, string, string) ([]netip.Addr, error) { return nil, unknown })
	if !errors.Is(err, unknown) {
		t.Errorf("a failed look-up: %v", err)
	}
}

// An admin key opens other addresses than loopback's.
func TestListenGuarded(t *testing.T) {
	if _, err := listen(t.Context(), "0.0.0.0", 0, false); !errors.Is(err, errNotLoopback) {
		t.Errorf("without a key: %v", err)
	}
	listener, err := listen(t.Context(), "0.0.0.0", 0, true)
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
}

// Keys come from flags, or else from the environment.
func TestKeysOfTheEnvironment(t *testing.T) {
	t.Setenv("HERMESFAKE_ADMIN_KEY", "")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"serve", "--host", "0.0.0.0", "--port", "0"}, &stdout, &stderr); code != exitFailure ||
		!strings.Contains(stderr.String(), "--admin-key") {
		t.Errorf("without a key: code %d, %s", code, &stderr)
	}
	t.Setenv("HERMESFAKE_ADMIN_KEY", "adm1n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stderr.Reset()
	if code := run(ctx, []string{"serve", "--host", "0.0.0.0", "--port", "0", "--log-format", "off"}, &stdout, &stderr); code != exitOK {
		t.Errorf("with a key in the environment: code %d, %s", code, &stderr)
	}
	stderr.Reset()
	if code := run(ctx, []string{"serve", "--profile", "a/b=key"}, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "must match") {
		t.Errorf("a bad profile: code %d, %s", code, &stderr)
	}
}
