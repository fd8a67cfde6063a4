package gate

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate/internal/known"
)

// ErrNoRule is returned for an [ID] without a rule.
var ErrNoRule = errors.New("no such rule")

// Add puts a rule in force, after the existing ones. The rule is listed until [Gate.Remove], even when it is spent or its window
// has closed. Add refuses a malformed rule with all its problems, and one that needs a missing hook.
func (g *Gate) Add(r Rule) (ID, error) {
	e, err := g.compile(r)
	if err != nil {
		return 0, err
	}
	g.change.Lock()
	defer g.change.Unlock()
	if g.closed {
		return 0, fmt.Errorf("gate %s: %w", g.addr, net.ErrClosed)
	}
	g.lastID++
	e.id = g.lastID
	g.rules = append(g.rules, e)
	if r.Window.From > 0 {
		e.stage = Waiting
	}
	g.enforce()
	g.settle()
	if r.Window != (Window{}) {
		g.windows.Go(func() { g.watch(e) })
	}
	return e.id, nil
}

// Remove ends a rule: the calls that it holds continue or are reset, as the action demands, and the gate listens again if the
// rule had stopped that. It fails without a change if the rule does not exist ([ErrNoRule]), or if the address cannot be bound
// within two seconds or before ctx ends.
func (g *Gate) Remove(ctx context.Context, id ID) error {
	g.change.Lock()
	defer g.change.Unlock()
	all := g.rules
	i := slices.IndexFunc(all, func(e *entry) bool { return e.id == id })
	if i < 0 {
		return fmt.Errorf("gate %s: rule %d: %w", g.addr, id, ErrNoRule)
	}
	g.rules = slices.Delete(slices.Clone(all), i, i+1)
	if err := g.listenFor(ctx); err != nil {
		g.rules = all
		return err
	}
	g.enforce()
	release(all[i])
	g.settle()
	return nil
}

// Rules returns the rules in order, with their state.
func (g *Gate) Rules() []Status {
	g.change.Lock()
	defer g.change.Unlock()
	list := make([]Status, 0, len(g.rules))
	for _, e := range g.rules {
		list = append(list, e.status())
	}
	return list
}

// table holds the entries that apply to calls and connections.
type table struct {
	entries []*entry
	// late is set if some apply to answers, too.
	late bool
	// conns apply to new connections.
	conns []*entry
}

// enforce builds a new table from mode and rules. The caller holds g.change.
func (g *Gate) enforce() {
	t := new(table)
	for _, e := range g.inForce() {
		if e.rule.Match.whole() {
			switch e.rule.Action.(type) {
			case Refuse:
				t.conns = append(t.conns, e)
				continue
			case BlackHole:
				t.conns = append(t.conns, e)
			}
		}
		t.entries = append(t.entries, e)
		t.late = t.late || late(e.rule.Action)
	}
	g.table.Store(t)
}

// inForce returns the mode and the rules with an open window. The caller holds g.change.
func (g *Gate) inForce() []*entry {
	var open []*entry
	if g.modeRule != nil {
		open = append(open, g.modeRule)
	}
	for _, e := range g.rules {
		if e.stage == Active {
			open = append(open, e)
		}
	}
	return open
}

// watch opens and closes a rule's window.
func (g *Gate) watch(e *entry) {
	w := e.rule.Window
	if w.From > 0 {
		if !e.sleep(w.From) {
			return
		}
		g.change.Lock()
		if !e.over() {
			e.stage = Active
			g.enforce()
			g.settle()
		}
		g.change.Unlock()
	}
	if w.Until == 0 || !e.sleep(w.Until-w.From) {
		return
	}
	g.change.Lock()
	defer g.change.Unlock()
	if e.over() {
		return
	}
	e.stage = Ended
	g.enforce()
	release(e)
	for !g.closed {
		err := g.listenFor(g.life)
		if err == nil {
			g.settle()
			return
		}
		// Release the lock: another rule may require that the gate does not listen.
		g.opts.Logger.Error("gate cannot listen again", "addr", g.addr, "error", err)
		g.change.Unlock()
		g.pause(time.Second)
		g.change.Lock()
	}
}

// pause waits for d or the end of the gate.
func (g *Gate) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-g.life.Done():
	}
}

// release releases what the entries hold, ignoring nil ones.
func release(entries ...*entry) {
	for _, e := range slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e == nil || e.over() }) {
		close(e.done)
	}
}

// Mode returns the mode in force.
func (g *Gate) Mode() Mode {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mode
}

func (g *Gate) setMode(m Mode) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = m
}

// Set changes the mode and returns when it is in force: after Down no connection is left; after leaving Down the gate listens
// again, unless a rule prevents it. It fails without a change if the mode is malformed, if the gate is closed, or if the address
// cannot be bound within two seconds or before ctx ends.
//
// A mode is a rule about all calls that precedes the others: Slow is [Latency], Hung is [Hang], Down is [Outage].
func (g *Gate) Set(ctx context.Context, to Mode) error {
	to, err := to.normal()
	if err != nil {
		return err
	}
	g.change.Lock()
	defer g.change.Unlock()
	if g.closed {
		return fmt.Errorf("gate %s: %w", g.addr, net.ErrClosed)
	}
	from, old := g.Mode(), g.modeRule
	if from == to {
		return nil
	}
	g.modeRule = nil
	if action := to.action(); action != nil {
		g.modeRule = g.newEntry(Rule{Name: "mode " + to.String(), Action: action})
	}
	if err := g.listenFor(ctx); err != nil {
		g.modeRule = old
		return err
	}
	g.setMode(to)
	// Calls get the new mode before they are cut or released, so that none is answered on the way down.
	g.enforce()
	release(old)
	g.settle()
	if g.opts.OnMode != nil {
		g.opts.OnMode(from, to)
	}
	return nil
}

// action returns the action of a mode; nil when Up.
func (m Mode) action() Action {
	switch m.State {
	case Slow:
		return Latency{Delay: m.Delay}
	case Hung:
		return Hang{}
	case Down:
		return Outage{}
	default:
		return nil
	}
}

// matches reports whether a rule matches a call. Cheap conditions come first.
func (e *entry) matches(c *call) bool {
	if t := transport(e.rule.Action); t != "" && t != c.Transport {
		return false
	}
	switch e.rule.Action.(type) {
	case FailTask:
		if !strings.HasSuffix(c.Method, "_Task") && !e.tasks[c.Method] {
			return false
		}
	case DropSession:
		if c.Session == "" {
			return false
		}
	}
	m := &e.rule.Match
	return (m.Transport == "" || m.Transport == c.Transport) &&
		(m.Session == "" || m.Session == c.Session) &&
		m.Caller(c.Client, c.User) &&
		(len(m.Methods) == 0 || isMethod(m.Methods, c.Method)) &&
		(m.Object == Object{} || m.Object.among(c))
}

// Caller reports whether User and Client match.
func (m *Match) Caller(client, user string) bool {
	return (m.User == "" || glob.Fold(m.User, user)) &&
		(m.Client == "" || isClient(m.Client, client))
}

func isClient(pattern, client string) bool {
	pattern, client = strings.ToLower(pattern), strings.ToLower(client)
	if glob.IsPattern(pattern) {
		return glob.Match(pattern, client)
	}
	return strings.Contains(client, pattern)
}

func isMethod(patterns []string, method string) bool {
	for _, p := range patterns {
		if glob.Match(p, method) {
			return true
		}
		if strings.HasPrefix(p, "/") {
			if _, path, ok := strings.Cut(method, " "); ok && glob.Match(p, path) {
				return true
			}
		}
	}
	return false
}

// among reports whether the call is about such an object.
func (o Object) among(c *call) bool {
	for _, ref := range c.about() {
		if o.Type != "" && o.Type != ref.Type || o.Ref != "" && o.Ref != ref.Value {
			continue
		}
		if o.Name == "" || glob.Match(o.Name, c.gate.opts.Name(ref)) {
			return true
		}
	}
	return false
}

// about returns the objects in the call.
func (c *call) about() []types.ManagedObjectReference {
	if !c.read {
		c.read = true
		switch c.Transport {
		case SOAP:
			c.refs = mentioned(c.body)
		default:
			c.refs = mentionedJSON(c.body)
		}
	}
	return c.refs
}

// compile checks a rule for this gate and returns its entry.
func (g *Gate) compile(r Rule) (*entry, error) {
	c := checker{found: r.problems()}
	if g.opts.Identify == nil && (r.Match.User != "" || r.Match.Session != "") {
		c.add("match", "this gate does not know sessions and their users")
	}
	if g.opts.Name == nil && r.Match.Object.Name != "" {
		c.add("match.object.name", "this gate does not know names of objects")
	}
	switch r.Action.(type) {
	case FailTask:
		if g.opts.FailTask == nil {
			c.add("action.failTask", "this gate cannot make tasks")
		}
	case DropSession:
		if g.opts.Identify == nil || g.opts.DropSession == nil {
			c.add("action.dropSession", "this gate cannot end sessions")
		}
	}
	var all []error
	for _, p := range c.found {
		all = append(all, fmt.Errorf("gate %s: %s: %w", g.addr, r.title(), p))
	}
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	r.Match.Methods = slices.Clone(r.Match.Methods)
	e := g.newEntry(r)
	if fault, ok := r.Action.(Fault); ok {
		var err error
		if e.fault, err = fault.build(); err != nil {
			return nil, fmt.Errorf("gate %s: %s: %w", g.addr, r.title(), err)
		}
	}
	return e, nil
}

// entry is a compiled rule.
type entry struct {
	id    ID
	rule  Rule
	fault types.BaseMethodFault // of Fault and FailTask
	tasks map[string]bool       // methods that return a Task without the suffix _Task; of FailTask
	stage Stage                 // Waiting, Active or Ended; guarded by Gate.change
	done  chan struct{}         // closed when the rule ends; guarded by Gate.change

	mu            sync.Mutex
	random        *rand.Rand
	matched, hits int64
	bucket        bucket           // of Throttle
	used          map[string]int64 // calls by session; of DropSession with After
}

// newEntry returns the entry of a valid rule.
func (g *Gate) newEntry(r Rule) *entry {
	name := fnv.New64a()
	_, _ = name.Write([]byte(r.Name)) // rules with the same seed must not draw the same numbers
	e := &entry{
		rule:   r,
		stage:  Active,
		done:   make(chan struct{}),
		random: rand.New(rand.NewPCG(r.Seed, name.Sum64())),
	}
	if _, ok := r.Action.(FailTask); ok {
		e.tasks = make(map[string]bool)
		for _, method := range known.Tasks() {
			e.tasks[method] = true
		}
	}
	return e
}

// draw decides about one matching call of a session ("" for none), or one connection. share, from -1 to 1, is its part of the
// jitter.
func (e *entry) draw(session string) (hit bool, share float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.matched++
	if !e.due(session) {
		return false, 0
	}
	if e.matched <= int64(e.rule.Skip) {
		return false, 0
	}
	luck, share := e.random.Float64(), 2*e.random.Float64()-1
	if p := e.rule.Probability; p > 0 && luck >= p {
		return false, 0
	}
	if e.spent() {
		return false, 0
	}
	e.hits++
	return true, share
}

// due reports whether the action applies to this call, and counts it if necessary. The caller holds e.mu.
func (e *entry) due(session string) bool {
	switch a := e.rule.Action.(type) {
	case Throttle:
		return !e.bucket.take(a.Rate, time.Now())
	case DropSession:
		if a.After == 0 {
			return true
		}
		if e.used == nil || len(e.used) >= maxUsed {
			e.used = make(map[string]int64)
		}
		if e.used[session]++; e.used[session] <= int64(a.After) {
			return false
		}
		delete(e.used, session)
	}
	return true
}

// maxUsed limits the number of tracked sessions.
const maxUsed = 1 << 16

// bucket is a token bucket that holds a second's worth, at least one.
type bucket struct {
	level float64
	last  time.Time
}

// take takes a token, if one is available.
func (b *bucket) take(rate float64, now time.Time) bool {
	full := max(1, rate)
	if b.last.IsZero() {
		b.level = full
	} else {
		b.level = min(full, b.level+rate*now.Sub(b.last).Seconds())
	}
	b.last = now
	if b.level < 1 {
		return false
	}
	b.level--
	return true
}

// spent reports whether the rule has reached Count. The caller holds e.mu.
func (e *entry) spent() bool { return e.rule.Count > 0 && e.hits >= int64(e.rule.Count) }

// certain reports whether every call is hit while the rule is in force.
func (e *entry) certain() bool {
	r := e.rule
	return r.Match.whole() && (r.Probability == 0 || r.Probability == 1) && r.Skip == 0 && r.Count == 0
}

// outage reports whether the gate must not listen while the rule is in force.
func (e *entry) outage() bool {
	_, ok := e.rule.Action.(Outage)
	return ok && e.certain()
}

// status describes the entry. The caller holds Gate.change.
func (e *entry) status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Status{ID: e.id, Rule: e.rule, State: e.stage, Matched: e.matched, Hits: e.hits}
	if s.State == Active && e.spent() {
		s.State = Spent
	}
	return s
}

// over reports whether the rule has ended.
func (e *entry) over() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// sleep waits for d; it returns false if the rule ends first.
func (e *entry) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-e.done:
		return false
	}
}
