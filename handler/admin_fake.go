package handler

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
)

func (h *Handler) adminIndex(*adminCall) *Reply {
	routes := []string{}
	for _, r := range h.adminRoutes() {
		routes = append(routes, r.method+" /__admin"+r.path)
	}
	return adminJSON(http.StatusOK, map[string]any{"service": "hermes", "routes": routes})
}

func (h *Handler) adminHealth(c *adminCall) *Reply {
	return adminJSON(http.StatusOK, map[string]any{
		"status": "ok", "platform": platform, "version": upstreamVersion, "service": "hermes",
		"uptimeMs":   time.Since(h.started).Milliseconds(),
		"clock":      clockJSON(c.space.engine.Clock()),
		"namespaces": len(h.engine.Namespaces()),
	})
}

func (h *Handler) adminReset(c *adminCall) *Reply {
	names := []string{c.space.engine.Name()}
	if all := c.query.Get("all"); all == "1" || all == "true" {
		names = h.engine.Namespaces()
	}
	for _, name := range names {
		n, err := h.engine.Namespace(name)
		if err == nil {
			err = n.Reset()
		}
		if errors.Is(err, engine.StorageFailed) {
			return refusal(err)
		}
		if err != nil {
			return adminError(http.StatusServiceUnavailable, err.Error())
		}
	}
	return adminJSON(http.StatusOK, map[string]any{"status": "ok", "reset": names})
}

func (h *Handler) adminNamespaces(*adminCall) *Reply {
	return adminJSON(http.StatusOK, map[string]any{"default": h.namespace, "namespaces": h.engine.Namespaces()})
}

// clockAnswer is a clock in milliseconds, with a fraction only where there is one.
type clockAnswer struct {
	Now    milliseconds `json:"now"`
	Frozen bool         `json:"frozen"`
	Offset milliseconds `json:"offsetMs"`
}

type milliseconds time.Duration

func (m milliseconds) MarshalJSON() ([]byte, error) {
	whole, rest := int64(m)/1e6, int64(m)%1e6
	if rest == 0 {
		return strconv.AppendInt(nil, whole, 10), nil
	}
	return strconv.AppendFloat(nil, float64(whole)+float64(rest)/1e6, 'f', -1, 64), nil
}

func clockJSON(s engine.ClockState) clockAnswer {
	return clockAnswer{milliseconds(s.Now.UnixNano()), s.Frozen, milliseconds(s.Offset)}
}

func (h *Handler) adminClock(c *adminCall) *Reply {
	if c.named {
		return adminJSON(http.StatusOK, clockJSON(c.space.engine.Clock()))
	}
	return adminJSON(http.StatusOK, clockJSON(h.engine.Clock()))
}

func (h *Handler) adminMoveClock(c *adminCall) *Reply {
	a := c.arguments("clock")
	var change engine.ClockChange
	if reset, ok := a.flag("reset"); ok {
		change.Reset = reset
	}
	if v, ok := a.get("set"); ok {
		change.Set = a.instant("set", v)
	}
	if v, ok := a.get("advance"); ok {
		change.Advance = a.duration("advance", v)
	}
	if freeze, ok := a.flag("freeze"); ok {
		change.Freeze = &freeze
	}
	if err := a.done(); err != nil {
		return adminError(http.StatusBadRequest, err.Error())
	}
	move := h.engine.ChangeClock
	if c.named {
		move = c.space.engine.ChangeClock
	}
	state, err := move(change)
	if isRefusal(err) {
		return adminError(http.StatusServiceUnavailable, err.Error())
	}
	if err != nil {
		return adminError(http.StatusBadRequest, err.Error())
	}
	return adminJSON(http.StatusOK, clockJSON(state))
}

// nanos reads a number of milliseconds, with or without a fraction.
func nanos(v canon.Value) (int64, bool) {
	var f float64
	switch v := v.(type) {
	case canon.Int:
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil || n > math.MaxInt64/1_000_000 || n < math.MinInt64/1_000_000 {
			return 0, false
		}
		return n * 1e6, true
	case canon.Float:
		f = float64(v)
	default:
		return 0, false
	}
	if !(math.Abs(f) < math.MaxInt64/2e6) {
		return 0, false
	}
	whole, rest := math.Modf(f)
	return int64(whole)*1e6 + int64(math.Round(rest*1e6)), true
}

var instantLayouts = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04", time.DateOnly,
}

// instant reads a time in milliseconds since 1970, or in ISO 8601.
func (a *arguments) instant(name string, v canon.Value) time.Time {
	if text, ok := v.(canon.String); ok {
		for _, layout := range instantLayouts {
			if t, err := time.Parse(layout, string(text)); err == nil && engine.ValidTime(t) {
				return t
			}
		}
	} else if n, ok := nanos(v); ok && engine.ValidTime(time.Unix(0, n)) {
		return time.Unix(0, n)
	}
	a.fail(name, "must be milliseconds since 1970 or an ISO 8601 time, in the years 1970 to 2199")
	return time.Time{}
}

// duration reads milliseconds, or a text such as "90s", "15m", "2h" or "3d".
func (a *arguments) duration(name string, v canon.Value) time.Duration {
	if text, ok := v.(canon.String); ok {
		if d, ok := parseDuration(string(text)); ok {
			return d
		}
	} else if n, ok := nanos(v); ok && n >= 0 && !negative(v) {
		return time.Duration(n)
	}
	a.fail(name, `must be milliseconds, or a time such as "90s", "15m", "2h" or "3d", and not negative`)
	return 0
}

// negative finds numbers too that are less than the clock counts.
func negative(v canon.Value) bool {
	f, ok := v.(canon.Float)
	return ok && f < 0
}

func parseDuration(text string) (time.Duration, bool) {
	if n := len(text); n > 1 && text[n-1] == 'd' {
		days, err := strconv.ParseFloat(text[:n-1], 64)
		if err != nil || !(days >= 0 && days < 100_000) {
			return 0, false
		}
		return time.Duration(days * 24 * float64(time.Hour)), true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
