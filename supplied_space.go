package hermesfake

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// InputQueue keeps what is recorded of supplied input; see package engine/suppliedinput.
type InputQueue = suppliedinput.Queue

// WithInputQueue keeps what is recorded of supplied input in q, which outlives the fake. Package
// engine/suppliedinput/badgerqueue keeps it on disk. Who opened the queue closes it, after the fake. The default, and what nil stands
// for, is a queue in memory that ends with the fake.
func WithInputQueue(q InputQueue) Option {
	return func(c *config) { c.inputQueue = q }
}

// WithInputMisuseAllowed keeps Start from failing the test on what the host did wrong with supplied input.
func WithInputMisuseAllowed() Option {
	return func(c *config) { c.allowMisuse = true }
}

// inputSpaces are the supplied inputs of a fake's namespaces.
type inputSpaces struct {
	used   atomic.Bool // there is one
	mu     sync.Mutex
	spaces map[string]*suppliedinput.Space
	names  []string // in order of first use
}

// inputs returns that of the view's namespace.
func (f *Fake) inputs() *suppliedinput.Space { return f.core.inputsOf(f.namespace.Name()) }

func (k *core) inputsOf(namespace string) *suppliedinput.Space {
	k.inputSpaces.mu.Lock()
	defer k.inputSpaces.mu.Unlock()
	if s := k.inputSpaces.spaces[namespace]; s != nil {
		return s
	}
	if k.inputSpaces.spaces == nil {
		k.inputSpaces.spaces = map[string]*suppliedinput.Space{}
	}
	s := suppliedinput.New(suppliedinput.Config{
		Namespace: namespace,
		Seed:      k.config.seed,
		Gateway:   inputGateway{k.engine, namespace},
		Queue:     k.config.inputQueue,
		Caller:    callerLine,
		Changed:   func() { k.fake.handler.ChangedIn(namespace) },
	})
	k.inputSpaces.spaces[namespace] = s
	k.inputSpaces.names = append(k.inputSpaces.names, namespace)
	k.inputSpaces.used.Store(true)
	return s
}

// usedInputs returns that of a namespace, nil where nothing was supplied yet.
func (k *core) usedInputs(namespace string) *suppliedinput.Space {
	if !k.inputSpaces.used.Load() {
		return nil
	}
	k.inputSpaces.mu.Lock()
	defer k.inputSpaces.mu.Unlock()
	return k.inputSpaces.spaces[namespace]
}

// misuses are those of all namespaces.
func (k *core) misuses() (all []InputMisuse) {
	k.inputSpaces.mu.Lock()
	names := k.inputSpaces.names[:len(k.inputSpaces.names):len(k.inputSpaces.names)]
	k.inputSpaces.mu.Unlock()
	for _, name := range names {
		all = append(all, k.inputsOf(name).Misuses()...)
	}
	return all
}

// supplied is asked about a submission before it is admitted.
func (k *core) supplied(ctx context.Context, n *engine.Namespace, id string) (func(*engine.Run, []byte), error) {
	h, _ := ctx.Value(handoffKey{}).(*Handoff)
	if id == "" && h == nil {
		return nil, nil
	}
	space := k.usedInputs(n.Name())
	if id == "" {
		if id = h.id; h.space != space {
			return nil, fmt.Errorf("%w in namespace %s: it was opened elsewhere", ErrNoHandoff, n.Name())
		}
	}
	if space == nil {
		return nil, fmt.Errorf("%w in namespace %s", ErrNoHandoff, n.Name())
	}
	end, err := space.Admit(id)
	if err != nil {
		return nil, err
	}
	return func(run *engine.Run, body []byte) {
		defer end()
		if run == nil {
			return
		}
		session, _ := run.SessionID().(canon.String)
		// It was usable just now. If it was closed meanwhile, the run finds it so; if there is no room for it, nothing comes of it.
		space.Attach(id, run.ID(), string(session), readTexts(body)...)
	}, nil
}

// readTexts returns the texts of a submission that a host can append to.
func readTexts(body []byte) []string {
	doc := canon.Get()
	defer doc.Release()
	if doc.Parse(body) != nil {
		return nil
	}
	instructions, _ := doc.Root().Member("instructions")
	return []string{readSubmission(body).Input, instructions.Text()}
}

// completing is the final writer of runs.
func (k *core) completing(n *engine.Namespace, id engine.RunID, output string, complete func() error) error {
	space := k.usedInputs(n.Name())
	if space == nil {
		return complete()
	}
	return space.Complete(context.Background(), suppliedinput.Actor{Run: id, Executor: n.Executor()}, output, complete)
}

// clearing forgets what was supplied to a namespace.
func (k *core) clearing(namespace string) error {
	if space := k.usedInputs(namespace); space != nil {
		return space.Reset()
	}
	return k.config.inputQueue.Drop(namespace)
}

// restored forgets the runs that a checkout has taken back.
func (k *core) restored(namespace string) {
	if space := k.usedInputs(namespace); space != nil {
		space.Forget()
	}
}

// inputGateway is the namespace around a Space. It goes by the name, since a dropped namespace begins anew.
type inputGateway struct {
	engine *engine.Engine
	name   string
}

func (g inputGateway) namespace() *engine.Namespace {
	n, _ := g.engine.Namespace(g.name) // the name was in use before
	return n
}

func (g inputGateway) Now() time.Time { return g.namespace().Now() }

func (g inputGateway) Sleep(ctx context.Context, x *engine.Executor, d time.Duration) error {
	return g.namespace().Sleep(ctx, x, d)
}

func (g inputGateway) WhileActive(ctx context.Context, id engine.RunID) (context.Context, func()) {
	while, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		g.namespace().AwaitRun(while, nil, id, func(in engine.Inspection) (bool, error) { return !in.Run.Active(), nil })
	}()
	return while, func() {
		cancel()
		<-ended
	}
}

func (g inputGateway) Active(id engine.RunID) bool {
	in, err := g.namespace().Inspect(id)
	return err == nil && in.Run.Active()
}

func (g inputGateway) Known(id engine.RunID) bool {
	_, err := g.namespace().Inspect(id)
	return err == nil
}

func (g inputGateway) ActiveRuns() (active []engine.RunID) {
	for _, run := range g.namespace().Runs() {
		if run.Active() {
			active = append(active, run.ID())
		}
	}
	return active
}

// inputs shows the scopes of the namespace: ids, and how they are.
func (d *dump) inputs(f *Fake) {
	space := f.core.usedInputs(f.namespace.Name())
	if space == nil {
		return
	}
	scopes := space.Scopes()
	d.line("supplied", "%s, %s", plural(len(scopes), "scope"), plural(len(space.Sources()), "source"))
	for _, s := range scopes[max(0, len(scopes)-dumpRuns):] {
		state := "open"
		if s.Closed {
			state = "closed"
		}
		text := fmt.Sprintf("%s %s, %s, admitted %t", s.ID, state, plural(s.Tasks, "task"), s.Admitted)
		if s.Failure != nil {
			text += ", " + string(s.Failure.Reason)
		}
		if s.Result != nil {
			text += ", result " + s.Result.TurnID
		}
		d.item("%s", text)
	}
	for _, err := range space.QueueFailures() {
		d.item("not queued: %v", err)
	}
}
