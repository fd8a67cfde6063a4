package gate

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate/internal/known"
)

// entry is a rule, ready to be held against calls.
type entry struct {
	id    ID
	rule  Rule
	fault types.BaseMethodFault // of Fault and FailTask
	tasks map[string]bool       // methods that return a Task and do not say so; of FailTask
	stage Stage                 // Waiting, Active or Ended; guarded by Gate.change
	done  chan struct{}         // closed when the rule ends; guarded by Gate.change

	mu            sync.Mutex
	random        *rand.Rand
	matched, hits int64
}

// newEntry makes an entry of a rule that is known to be good.
func (g *Gate) newEntry(r Rule) *entry {
	name := fnv.New64a()
	_, _ = name.Write([]byte(r.Name)) // rules with one seed do not draw alike
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

// draw decides about one call, or one connection, that matches. The share, from -1 to 1, is what it gets of the jitter.
func (e *entry) draw() (hit bool, share float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.matched++
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

// spent tells whether nothing more is hit; e.mu is held.
func (e *entry) spent() bool { return e.rule.Count > 0 && e.hits >= int64(e.rule.Count) }

// certain tells whether every call is hit for as long as the rule is in force.
func (e *entry) certain() bool {
	r := e.rule
	return r.Match.whole() && (r.Probability == 0 || r.Probability == 1) && r.Skip == 0 && r.Count == 0
}

// outage tells whether the gate is not to listen while the rule is in force.
func (e *entry) outage() bool {
	_, ok := e.rule.Action.(Outage)
	return ok && e.certain()
}

// status describes the entry; Gate.change is held.
func (e *entry) status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Status{ID: e.id, Rule: e.rule, State: e.stage, Matched: e.matched, Hits: e.hits}
	if s.State == Active && e.spent() {
		s.State = Spent
	}
	return s
}

// over tells whether the rule has ended.
func (e *entry) over() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// sleep waits for d; it returns false when the rule ends before.
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
