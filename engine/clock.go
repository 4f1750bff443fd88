package engine

import (
	"errors"
	"fmt"
	"time"
)

// ErrClock is wrapped by every error about a clock change.
var ErrClock = errors.New("clock")

// The instants a clock may show. Beyond them an int64 of nanoseconds, with
// room for the retention times, would overflow.
var (
	earliest = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// ClockChange moves a clock. Its parts are applied in the order of the fields.
type ClockChange struct {
	Reset   bool          // follow the system's clock again, without offset
	Set     time.Time     // show this instant, unless zero; a frozen clock stays frozen
	Advance time.Duration // move forward; never negative
	Freeze  *bool         // true stops the clock, false lets it run from where it stands
}

// ClockState is what a clock shows.
type ClockState struct {
	Now    time.Time
	Frozen bool
	Offset time.Duration // Now less the system's clock
}

// clock is the system's time plus an offset, or stands still. It is kept in
// integer nanoseconds, so that the boundaries of retention are exact.
type clock struct {
	frozen bool
	at     int64 // what a frozen clock shows, Unix nanoseconds
	offset int64 // what a running clock adds to the system's
}

func (c clock) now() int64 {
	if c.frozen {
		return c.at
	}
	return time.Now().UnixNano() + c.offset
}

// showing is a clock of the same kind that shows another instant.
func (c clock) showing(at int64) clock {
	return clock{c.frozen, at, at - time.Now().UnixNano()}
}

func (c clock) state() ClockState {
	system := time.Now().UnixNano()
	now := system + c.offset
	if c.frozen {
		now = c.at
	}
	return ClockState{Now: time.Unix(0, now).UTC(), Frozen: c.frozen, Offset: time.Duration(now - system)}
}

func (c clock) change(by ClockChange) (clock, error) {
	if by.Advance < 0 {
		return c, fmt.Errorf("%w: advance: must not be negative; use set to go back", ErrClock)
	}
	if by.Reset {
		c = clock{}
	}
	system := time.Now().UnixNano()
	if !by.Set.IsZero() {
		if !ValidTime(by.Set) {
			return c, fmt.Errorf("%w: set: must be in the years %d to %d", ErrClock, earliest.Year(), latest.Year()-1)
		}
		c.at = by.Set.UnixNano()
		c.offset = c.at - system
	}
	if by.Advance > 0 {
		if c.frozen && by.Advance > time.Duration(latest.UnixNano()-c.at) ||
			!c.frozen && by.Advance > time.Duration(latest.UnixNano()-system-c.offset) {
			return c, fmt.Errorf("%w: advance: must not go beyond the year %d", ErrClock, latest.Year()-1)
		}
		c.at += int64(by.Advance)
		c.offset += int64(by.Advance)
	}
	if by.Freeze != nil && *by.Freeze != c.frozen {
		if *by.Freeze {
			c.at = system + c.offset
		} else {
			c.offset = c.at - system
		}
		c.frozen = *by.Freeze
	}
	return c, nil
}

// seconds is an instant as the provider counts it. One division of the whole
// count would print other digits.
func seconds(nanos int64) float64 {
	return float64(nanos/1e9) + float64(nanos%1e9)/1e9
}

// ValidTime reports whether a clock can show t.
func ValidTime(t time.Time) bool { return !t.Before(earliest) && t.Before(latest) }
