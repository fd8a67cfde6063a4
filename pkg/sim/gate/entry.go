package gate

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate/internal/known"
)

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
