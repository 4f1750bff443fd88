package hermesfake

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/faults"
)

// Bounds of what Dump shows, of runs and requests the latest ones of each namespace.
const (
	dumpNamespaces = 20
	dumpRuns       = 50
	dumpRequests   = 50
	dumpRules      = 20
	dumpUnmatched  = 10
	dumpText       = 100 // bytes of a text
)

// Dump returns a readable text of the whole fake: fault rules, scripts and counts of requests, and of each
// namespace the clock, the gateway, the latest runs with what belongs to them, and the latest requests.
// The view's own namespace comes first. It shows what the test made the executor say, and of what a client
// sent only the members that the provider gives back: model and session_id.
//
// The text is for people, and differs from version to version. With WithSeed and WithFrozenClock it is the same each time,
// unless a request took a second or more.
func (f *Fake) Dump() string {
	d := &dump{fake: f}
	fmt.Fprintf(&d.text, "hermesfake %s, seed %d\n", Version, f.Seed())
	d.store()
	d.faults()
	d.scripts()
	d.metrics()
	names := f.core.engine.Namespaces()
	own := f.namespace.Name()
	if i := slices.Index(names, own); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, own)
	}
	for _, name := range names[:min(len(names), dumpNamespaces)] {
		if view, err := f.Namespace(name); err == nil {
			view.dump(d)
		}
	}
	if left := len(names) - dumpNamespaces; left > 0 {
		fmt.Fprintf(&d.text, "\n... %d more namespaces\n", left)
	}
	return d.text.String()
}

// dump is a text in the making.
type dump struct {
	fake *Fake
	text strings.Builder
	now  time.Time // on the clock of the namespace that is being written
}

// line writes a labelled line.
func (d *dump) line(label, format string, args ...any) {
	d.write("  %-9s "+format, append([]any{label}, args...)...)
}

// item writes a line below a labelled one.
func (d *dump) item(format string, args ...any) {
	d.write("    "+format, args...)
}

// detail writes a labelled line about a run.
func (d *dump) detail(label, format string, args ...any) {
	d.write("        %-10s "+format, append([]any{label}, args...)...)
}

// write writes a line, and only one: what a terminal would not print is escaped.
func (d *dump) write(format string, args ...any) {
	for _, c := range fmt.Sprintf(format, args...) {
		if strconv.IsPrint(c) {
			d.text.WriteRune(c)
		} else {
			d.text.WriteString(strings.Trim(strconv.QuoteRune(c), "'"))
		}
	}
	d.text.WriteByte('\n')
}

func (d *dump) store() {
	if s := d.fake.core.config.engine.Store; s != nil {
		d.line("store", "%T", s)
	}
}

func (d *dump) faults() {
	rules := d.fake.core.faults.List(faults.AllNamespaces)
	if len(rules) == 0 {
		return
	}
	d.line("faults", "%s", plural(len(rules), "rule"))
	for i := range rules[max(0, len(rules)-dumpRules):] {
		r := &rules[max(0, len(rules)-dumpRules)+i]
		left := "no bound"
		if r.Remaining >= 0 {
			left = fmt.Sprintf("%d left", r.Remaining)
		}
		d.item("%-14s %s (%s, %s)", clip(r.ID), describeRule(&r.Rule), plural(r.Hits, "hit"), left)
	}
}

// describeRule says which requests a rule is for, and what it does; not the body and header that it answers with.
func describeRule(r *faults.Rule) string {
	var which, what []string
	if r.Operation != "" {
		which = append(which, string(r.Operation))
	}
	if r.Method != "" {
		which = append(which, r.Method)
	}
	if r.PathPrefix != "" {
		which = append(which, clip(r.PathPrefix))
	}
	if which == nil {
		which = append(which, "any request")
	}
	if r.Namespace != faults.AllNamespaces {
		which = append(which, "in "+r.Namespace)
	}
	if r.Rate > 0 {
		which = append(which, "at rate "+strconv.FormatFloat(r.Rate, 'g', -1, 64))
	}
	if r.Delay > 0 {
		what = append(what, "delay "+r.Delay.String())
	}
	if r.Status != 0 {
		what = append(what, "answer "+strconv.Itoa(r.Status))
	}
	if r.Drop {
		what = append(what, "drop")
	}
	switch r.Effect {
	case "":
	case faults.EffectEventsCut:
		what = append(what, fmt.Sprintf("%s after %d", r.Effect, r.After))
	case faults.EffectSlowBody:
		what = append(what, fmt.Sprintf("%s at %d bytes/s", r.Effect, r.BytesPerSecond))
	default:
		what = append(what, string(r.Effect))
	}
	return strings.Join(which, " ") + ": " + strings.Join(what, ", ")
}

func (d *dump) scripts() {
	st := &d.fake.core.stage
	st.mu.Lock()
	own := map[string]int{"every namespace": len(st.everyone.list) + len(st.everyone.document)}
	for name, s := range st.scripts {
		own["namespace "+name] = len(s.list) + len(s.document)
	}
	st.mu.Unlock()
	for _, whose := range slices.Sorted(maps.Keys(own)) {
		if n := own[whose]; n > 0 {
			d.line("scripts", "%d for %s", n, whose)
		}
	}
	for _, err := range d.fake.ScriptErrors() {
		first, _, _ := strings.Cut(err.Error(), "\n")
		d.line("", "error: %s", first)
	}
}

func (d *dump) metrics() {
	m := d.fake.Metrics()
	var outcomes []string
	rest := m.Requests
	for _, o := range slices.Sorted(maps.Keys(m.ByOperation)) {
		operation, status, _ := strings.Cut(o, " ")
		if status == "0" {
			status = "lost"
		}
		outcomes = append(outcomes, fmt.Sprintf("%s %s x%d", operation, status, m.ByOperation[o]))
		rest -= m.ByOperation[o]
	}
	if rest > 0 {
		outcomes = append(outcomes, fmt.Sprintf("no operation x%d", rest))
	}
	met := ""
	if m.Faults > 0 {
		met = fmt.Sprintf("; %d met a fault", m.Faults)
	}
	if m.Requests > 0 {
		d.line("requests", "%d: %s%s", m.Requests, strings.Join(outcomes, ", "), met)
	}
	unmatched := d.fake.handler.Unmatched()
	for _, u := range unmatched[:min(len(unmatched), dumpUnmatched)] {
		d.line("unmatched", "%s %s%s%s", u.Method, clip(u.Host), clip(u.Path), times(u.Count))
	}
	if left := len(unmatched) - dumpUnmatched; left > 0 {
		d.line("unmatched", "... %d more", left)
	}
}

// dump writes the namespace of the view.
func (f *Fake) dump(d *dump) {
	n := f.namespace
	clock, counts, gateway := n.Clock(), n.Counts(), n.Gateway()
	d.now = clock.Now
	running := "running"
	if clock.Frozen {
		running = "frozen"
	}
	fmt.Fprintf(&d.text, "\nnamespace %s\n", n.Name())
	d.line("clock", "%s, %s; next sweep %s", clock.Now.Format(time.RFC3339Nano), running, d.when(n.NextSweep()))
	d.line("scope", "%s", f.scopeText(n.Scope()))
	limit, draining := strconv.Itoa(gateway.MaxConcurrentRuns), ""
	if gateway.MaxConcurrentRuns <= 0 {
		limit = "any number"
	}
	if gateway.Draining {
		draining = ", draining"
	}
	d.line("gateway", "%d active of at most %s%s", counts.Active, limit, draining)
	if owner, restarted := n.LastRestart(); restarted {
		d.line("restarted", "the owner of unfinished rows is %s", owner)
	}
	if t := n.Timeline(); t.Head != "" {
		d.line("timeline", "branch %s at %s, %s kept", t.Branch, t.Head, plural(t.Checkpoints, "checkpoint"))
	}
	if _, err := n.Run(engine.RunID{}); errors.Is(err, StorageFailed) {
		d.line("storage", "%v", err)
	}
	d.runs(n, counts)
	d.inputs(f)
	d.requests(f)
}

func (d *dump) runs(n *engine.Namespace, counts engine.Counts) {
	latest, total := n.Latest(dumpRuns)
	if counts.Admitted == 0 && total == 0 {
		d.line("runs", "none")
		return
	}
	d.line("runs", "%d admitted, %d cached, %s, %s", counts.Admitted, counts.Cached, plural(counts.Durable, "row"),
		plural(counts.Streams, "open stream"))
	if left := total - len(latest); left > 0 {
		d.item("... %d earlier", left)
	}
	scope := n.Scope()
	for i := range latest {
		d.run(&latest[i], scope)
	}
}

func (d *dump) run(in *Snapshot, scope *engine.Scope) {
	r := in.Run
	moved := "updated"
	if r.Status().Terminal() {
		moved = "settled"
	}
	d.item("%s  %-20s  admitted %s, %s %s", r.ID(), r.Status(), d.when(r.CreatedAt()), moved, d.when(r.UpdatedAt()))
	if r.Scope().Hash() != scope.Hash() {
		d.detail("scope", "%s", d.fake.scopeText(r.Scope()))
	}
	if session := r.SessionID(); session != canon.Value(canon.String(r.ID().String())) {
		d.detail("session_id", "%s", wireText(session))
	}
	if model := r.Model(); model != canon.Value(canon.String(d.fake.core.engine.Model())) {
		d.detail("model", "%s", wireText(model))
	}
	if event := r.LastEvent(); event != "" {
		d.detail("last_event", "%s", clip(event))
	}
	if r.Output() != "" {
		d.detail("output", "%s", wireText(canon.String(r.Output())))
	}
	if u := r.Usage(); u != (Usage{}) {
		d.detail("usage", "%d input, %d output, %d in all", u.InputTokens, u.OutputTokens, u.TotalTokens)
	}
	if r.Err() != "" {
		d.detail("error", "%s", wireText(canon.String(r.Err())))
	}
	if steer := r.PendingSteer(); steer != "" {
		d.detail("steer", "%d bytes were left unused", len(steer))
	}
	d.execution(in)
	switch {
	case in.Row != nil && !in.Cached:
		d.detail("row", "%s, written %s; not in the cache", in.Row.Status, d.when(in.Row.UpdatedAt))
	case in.Row != nil:
		d.detail("row", "%s, written %s", in.Row.Status, d.when(in.Row.UpdatedAt))
	}
	if q := in.Queue; q != nil && q.Events > 0 {
		d.detail("events", "%d for the next subscriber, %d bytes", q.Events, q.Bytes)
	}
	for _, s := range in.Subscribers[:min(len(in.Subscribers), dumpRules)] {
		gone := ""
		if s.Gone {
			gone = "; its client has gone, which the gateway has not noticed"
		}
		d.detail("subscriber", "waits for %s%s", short(s.Waiting), gone)
	}
}

// execution writes approvals and steers.
func (d *dump) execution(in *Snapshot) {
	for _, p := range in.Pending[:min(len(in.Pending), dumpRules)] {
		asked, _ := p.Approval.Get("command")
		if asked == nil {
			asked, _ = p.Approval.Get("description")
		}
		d.detail("approval", "pending, asked %s: %s", d.when(p.AskedAt), wireText(asked))
	}
	for _, a := range in.Decisions[max(0, len(in.Decisions)-dumpRules):] {
		d.detail("approval", "answered %s: %s", d.when(a.DecidedAt), a.Choice)
	}
	policy := ""
	switch {
	case in.Steering.Broken:
		policy = "; the executor breaks on more"
	case in.Steering.Refuse:
		policy = "; the executor refuses more"
	}
	if len(in.Steers) > 0 || policy != "" {
		d.detail("steers", "%d taken%s", len(in.Steers), policy)
	}
}

func (d *dump) requests(f *Fake) {
	requests, dropped := f.Requests(), f.DroppedRequests()
	if len(requests)+dropped == 0 {
		d.line("requests", "none")
		return
	}
	fell := ""
	if dropped > 0 {
		fell = fmt.Sprintf(", %d fell out of the journal", dropped)
	}
	d.line("requests", "%d%s", len(requests)+dropped, fell)
	if left := len(requests) - dumpRequests; left > 0 {
		d.item("... %d earlier", left)
		requests = requests[left:]
	}
	for i := range requests {
		q := &requests[i]
		status := strconv.Itoa(q.Status)
		if q.Status == 0 {
			status = "lost"
		}
		d.item("%s  %-4s  %-4s %s%s", q.At.UTC().Format("15:04:05.000"), status, q.Method, clip(q.Path), remarks(q))
	}
}

// remarks are what there is to say of a request beside its line.
func remarks(q *Request) string {
	var all []string
	if q.Operation == RunCreate && q.RunID != "" {
		all = append(all, q.RunID)
	}
	if q.Accepted {
		all = append(all, "accepted")
	}
	if q.Unmatched {
		all = append(all, "no route")
	}
	if q.FaultID != "" {
		all = append(all, "fault "+clip(q.FaultID))
	}
	if q.Duration >= time.Second {
		all = append(all, "took "+short(q.Duration))
	}
	if all == nil {
		return ""
	}
	return "  (" + strings.Join(all, ", ") + ")"
}

// scopeText is a scope in words, without an identity that is a key.
func (f *Fake) scopeText(s *engine.Scope) string {
	if s.Profile() == "" {
		return "another one, of a row in the store"
	}
	identity, ok := f.handler.Identity(s)
	if !ok {
		return clip(s.Profile()) + ", identified by its API key"
	}
	return clip(s.Profile()) + ", " + clip(identity)
}

// when tells a time by how far it is from now.
func (d *dump) when(t time.Time) string {
	switch since := d.now.Sub(t); {
	case since > -time.Millisecond && since < time.Millisecond:
		return "now"
	case since < 0:
		return "in " + short(-since)
	default:
		return short(since) + " ago"
	}
}

// short writes a duration in two units at most.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return units(d, time.Minute, "m", time.Second, "s")
	case d < 24*time.Hour:
		return units(d, time.Hour, "h", time.Minute, "m")
	}
	return units(d, 24*time.Hour, "d", time.Hour, "h")
}

func units(d, large time.Duration, name string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d%s", d/large, name)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf("%d%s", rest, smallName)
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// clip is a text that breaks no line, cut where it is long.
func clip(text string) string {
	cut := cutText(text)
	if quoted := strconv.Quote(cut); quoted != `"`+cut+`"` {
		cut = quoted
	}
	if len(text) > dumpText {
		cut += "..."
	}
	return cut
}

// wireText is a value in the provider's bytes, but a string in the reader's own characters, cut where it is long.
func wireText(v canon.Value) string {
	if v == nil {
		return "?"
	}
	if text, ok := v.(canon.String); ok {
		quoted := strconv.Quote(cutText(string(text)))
		if len(text) > dumpText {
			quoted += fmt.Sprintf("... (%d bytes)", len(text))
		}
		return quoted
	}
	wire := string(canon.AppendWire(nil, v)) // in ASCII, and in one line
	if len(wire) > dumpText {
		wire = wire[:dumpText] + "..."
	}
	return wire
}

// cutText cuts a text between characters.
func cutText(text string) string {
	if len(text) <= dumpText {
		return text
	}
	end := dumpText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
