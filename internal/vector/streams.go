package vector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// keepalive is what an idle subscriber gets after keepaliveMillis, counted from the last thing it got.
const (
	keepalive       = ": keepalive\n\n"
	keepaliveMillis = "30000"
)

// stream is one subscriber's connection.
//
// Only what is expected is waited for, so a surplus may still be on its way when a step is over. It is found all the same, without
// sleeping: got and want only ever grow and got must be a prefix of want, so whatever comes next for this subscriber, the
// keepalive of flushStreams at the latest, comes behind it.
type stream struct {
	run    string
	closed bool   // ended or disconnected: nothing is expected of it any more
	want   []byte // all that the recording has given it so far

	cancel context.CancelFunc
	body   io.Closer
	more   chan struct{} // a token when got has grown
	done   chan struct{} // closed when reading is over

	mu  sync.Mutex
	got []byte
	err error // why reading is over
}

// subscribe opens an event stream. A reply other than 200 is an ordinary one.
func (r *replay) subscribe(s Step) error {
	if s.Request.Expect.Status != http.StatusOK {
		return r.request(s.Request)
	}
	path, err := r.fill(s.Request.Path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	request, err := r.newRequest(ctx, s.Request.Method, path, nil, nil)
	if err != nil {
		cancel()
		return err
	}
	// Only the head of the reply is due at once.
	late := time.AfterFunc(patience, cancel)
	reply, err := r.door.Transport.RoundTrip(request)
	if !late.Stop() && err == nil {
		reply.Body.Close()
		err = errors.New("the head of the stream came too late")
	}
	if err != nil {
		cancel()
		return err
	}
	opened := &stream{
		run:    s.Run,
		cancel: cancel,
		body:   reply.Body,
		more:   make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	r.streams[s.As] = opened
	go opened.read(reply.Body)
	return checkHead(s.Request.Expect, reply)
}

// read collects what arrives. It is ended by close, or by the end of the body.
func (s *stream) read(body io.Reader) {
	defer close(s.done)
	piece := make([]byte, 4096)
	for {
		n, err := body.Read(piece)
		s.mu.Lock()
		s.got = append(s.got, piece[:n]...)
		s.err = err
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// receive waits until each subscriber has got what is due to it, and compares what all of them have got so far.
func (r *replay) receive(due map[string]string, ended []string) error {
	for name, text := range due {
		text, err := r.fill(text)
		if err != nil {
			return err
		}
		s, ok := r.streams[name]
		if !ok {
			return fmt.Errorf("%s has no stream", name)
		}
		s.want = append(s.want, text...)
	}
	var differences []error
	for _, name := range slices.Sorted(maps.Keys(r.streams)) {
		s := r.streams[name]
		if s.closed {
			continue
		}
		var err error
		if slices.Contains(ended, name) {
			s.closed = true
			err = s.checkEnd()
		} else {
			err = s.checkOpen()
		}
		if err != nil {
			differences = append(differences, fmt.Errorf("stream of %s: %w", name, err))
		}
	}
	return errors.Join(differences...)
}

// checkOpen waits for all that is wanted, and verifies that there is no more and no end.
func (s *stream) checkOpen() error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		got, over := bytes.Clone(s.got), s.err
		s.mu.Unlock()
		if over != nil {
			return errors.Join(fmt.Errorf("ended: %w", over), checkBody(string(s.want), got))
		}
		if len(got) >= len(s.want) || !bytes.HasPrefix(s.want, got) {
			return checkBody(string(s.want), got)
		}
		select {
		case <-s.more:
		case <-timeout.C:
			return fmt.Errorf("not all came within %v: %w", patience, checkBody(string(s.want), got))
		}
	}
}

// checkEnd waits for the clean end of the body, and verifies that it came after exactly what is wanted.
func (s *stream) checkEnd() error {
	if !s.over() {
		s.mu.Lock()
		defer s.mu.Unlock()
		return errors.Join(fmt.Errorf("no end within %v", patience), checkBody(string(s.want), s.got))
	}
	if s.err != io.EOF {
		return errors.Join(fmt.Errorf("broke: %w", s.err), checkBody(string(s.want), s.got))
	}
	return checkBody(string(s.want), s.got)
}

// over waits for the end of reading, from which on got and err stay as they are.
func (s *stream) over() bool {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-s.done:
		return true
	case <-timeout.C:
		return false
	}
}

// close hangs up and joins the reading goroutine. What had arrived by then must be what is wanted.
func (s *stream) close() error {
	s.closed = true
	s.cancel()
	s.body.Close()
	if !s.over() {
		return fmt.Errorf("reading goes on %v after the body was closed", patience)
	}
	return checkBody(string(s.want), s.got)
}

// disconnect hangs up and waits until the server has seen it, as far as it makes a difference: a client that is in line is shown
// as gone then. Where the queue has ended there is no line, and nothing that an unseen client could change.
func (r *replay) disconnect(s *stream) error {
	before, err := r.inLine(s.run)
	if err != nil {
		return err
	}
	if err := s.close(); err != nil || before == 0 {
		return err
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		after, err := r.inLine(s.run)
		if err != nil || after < before {
			return err
		}
		select {
		case <-tick.C:
		case <-timeout.C:
			return fmt.Errorf("the server has not seen within %v that the client has gone", patience)
		}
	}
}

// inLine counts the subscribers of a run whose clients are there, as far as the server knows. A run that has been forgotten has none.
func (r *replay) inLine(name string) (int, error) {
	var text []byte
	err := r.inScopeOf(name, func() (err error) {
		text, err = r.ask("GET", "/__admin/hermes/runs/{{"+name+"}}", "")
		return err
	})
	if refused := (*refusal)(nil); errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var shown struct {
		Subscribers *[]struct {
			Gone bool `json:"gone"`
		} `json:"subscribers"`
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return 0, fmt.Errorf("%w: %s", err, text)
	}
	if shown.Subscribers == nil {
		return 0, fmt.Errorf("the run is shown without subscribers: %s", text)
	}
	count := 0
	for _, subscriber := range *shown.Subscribers {
		if !subscriber.Gone {
			count++
		}
	}
	return count, nil
}

// flushStreams verifies that the streams still open at the scenario's end are open indeed and got nothing but what was recorded.
// Nothing can be said of a silent stream without a wait, so it lets 30 s of the world's time pass: each of them, those whose queue
// has ended too, then gets exactly one keepalive (live-keepalive, live-two-subscribers-share), behind anything that it should not
// have got.
func (r *replay) flushStreams() error {
	due := map[string]string{}
	for name, s := range r.streams {
		if !s.closed {
			due[name] = keepalive
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := r.control(Control{"/__admin/clock", `{"advance":` + keepaliveMillis + `}`}); err != nil {
		return err
	}
	return r.receive(due, nil)
}

// hangUp closes every stream.
func (r *replay) hangUp() error {
	var differences []error
	for _, name := range slices.Sorted(maps.Keys(r.streams)) {
		if err := r.streams[name].close(); err != nil {
			differences = append(differences, fmt.Errorf("stream of %s: %w", name, err))
		}
	}
	return errors.Join(differences...)
}
