package handler

import (
	"time"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
)

// ReadObservation reads what the observe control takes.
func ReadObservation(object canon.Object) (*engine.Observation, error) {
	o, err := newArguments("observe", object).observation()
	return &o, err
}

// ReadEvent reads what the events control takes.
func ReadEvent(object canon.Object) (*engine.Event, error) {
	return newArguments("events", object).event()
}

// ReadDuration reads milliseconds, or a text such as "90s", "15m", "2h" or "3d".
func ReadDuration(v canon.Value) (time.Duration, error) {
	a := newArguments("after", nil)
	d := a.duration("", v)
	return d, a.err
}
