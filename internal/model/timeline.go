package model

import "maps"

// done is a command that was carried out, with the ids that it was about.
type done struct {
	command  Command
	run      string
	newRunID string
}

// Checkpoint keeps the world under a name: as the commands that Do has carried out up to now.
func (m *Model) Checkpoint(name string) {
	if m.points == nil {
		m.points = map[string][]done{}
	}
	m.points[name] = m.history[:len(m.history):len(m.history)]
}

// Checkout goes back, or forward, to a checkpoint, by carrying out the same commands in a new world. Nobody is connected
// to it.
func (m *Model) Checkout(name string) {
	points := maps.Clone(m.points)
	history := points[name]
	*m = *New(m.startNow, m.startMax)
	for _, d := range history {
		m.Do(d.command, func(int) string { return d.run }, d.newRunID)
	}
	m.points = points
	m.line, m.subscribers = nil, nil
	m.history = append(m.history, done{command: Command{Do: "disconnect all"}})
}

// remember keeps a command for a later Checkout.
func (m *Model) remember(c Command, ids func(i int) string, newRunID string) {
	d := done{command: c, newRunID: newRunID}
	if c.OfRun() {
		d.run = ids(c.Run)
	}
	m.history = append(m.history, d)
}
