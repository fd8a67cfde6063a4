package upstream

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

// span is when a VM was off.
type span struct{ from, to time.Time }

// history is when which VM was off.
type history struct {
	mu      sync.Mutex
	spans   map[string][]span
	claimed map[string]time.Time
}

func (h *history) add(name string, s span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.spans == nil {
		h.spans = map[string][]span{}
	}
	h.spans[name] = append(h.spans[name], s)
}

// explain fails the test for every error that neither a VM's being off explains nor the way in which the release looks
// for VMs.
func (w *world) explain(log string, off *history) {
	w.t.Helper()
	all, err := complaints(log)
	if err != nil {
		w.t.Fatal(err)
	}
	habits := newHabits(w, all)
	churn, habit := 0, 0
	for _, c := range all {
		switch {
		case off.explains(w, c):
			churn++
		case nameless.MatchString(c.text) && off.claim(c.at):
			churn++
		case habits.explain(c.text):
			habit++
		default:
			w.t.Errorf("the churn does not explain: %s", c.text)
		}
	}
	cycles := 0
	for _, s := range off.spans {
		cycles += len(s)
	}
	w.t.Logf("%d power cycles of %d VMs; the release logged %d errors: %d of VMs that were off, %d of its habits",
		cycles, len(off.spans), len(all), churn, habit)
}

// explains reports whether the complaint is about a VM that is or was off. A minute of grace, because the release caches
// and checks at intervals.
func (h *history) explains(w *world, c complaint) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ref := range w.spec.AllVMs() {
		if !strings.Contains(c.text, ref.VM.Hostname) && !strings.Contains(strings.ToLower(c.text), ref.VM.UUID) {
			continue
		}
		for _, s := range h.spans[ref.VM.Hostname] {
			if c.at.After(s.from) && c.at.Before(s.to.Add(time.Minute)) {
				return true
			}
		}
	}
	return false
}

// nameless is what the release says of a node without naming it, once for each node every five minutes, when it asks for
// the addresses of nodes: a VM that is off has none.
var nameless = regexp.MustCompile(`Error getting instance metadata for node addresses: node not found`)

// claim finds a VM that was off at that time and has not explained another such error of the same round.
func (h *history) claim(at time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.claimed == nil {
		h.claimed = map[string]time.Time{}
	}
	for name, spans := range h.spans {
		if at.Sub(h.claimed[name]) < 2*time.Minute {
			continue
		}
		for _, s := range spans {
			if at.After(s.from) && at.Before(s.to.Add(10*time.Second)) {
				h.claimed[name] = at
				return true
			}
		}
	}
	return false
}

// habits are the errors that upstream logs with a healthy vCenter, too: it asks each datacenter for each VM, first by the
// byte-swapped form of the UUID, and logs an error where it is missing.
type habits struct {
	home   map[string]string // datacenter of each VM, by UUID and by hostname
	misses map[string]int    // how often a VM was not found where it is not, and that was not yet said a second time
}

var (
	miss      = regexp.MustCompile(`Error while looking for vm=(\S+)\(by(?:UUID|Name)\) in vc=\S+ and datacenter=(\S+): No VM found`)
	missAgain = regexp.MustCompile(`Unable to find VM by (?:UUID. VM UUID|DNS Name. VM DNS Name): (\S+)`)
	swapped   = regexp.MustCompile(`WhichVCandDCByNodeID failed using normally formatted UUID. Err: No VM found`)
	// What the configuration does not ask for.
	absent = regexp.MustCompile(`the cloud provider does not support external load balancers|Read(?:Route|Nsxt)Config failed`)
)

func newHabits(w *world, all []complaint) *habits {
	h := &habits{home: map[string]string{}, misses: map[string]int{}}
	for ref := range w.spec.AllVMs() {
		h.home[ref.VM.UUID] = ref.Datacenter.Name
		h.home[ref.VM.Hostname] = ref.Datacenter.Name
	}
	for _, c := range all {
		if m := miss.FindStringSubmatch(c.text); m != nil && h.home[strings.ToLower(m[1])] != m[2] {
			h.misses[m[1]]++
		}
	}
	return h
}

func (h *habits) explain(text string) bool {
	if m := miss.FindStringSubmatch(text); m != nil {
		return h.home[strings.ToLower(m[1])] != m[2] // it is not there, indeed
	}
	if m := missAgain.FindStringSubmatch(text); m != nil {
		h.misses[m[1]]--
		return h.misses[m[1]] >= 0
	}
	return swapped.MatchString(text) || absent.MatchString(text)
}
