package fold

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Call is how one client calls one method of one vCenter.
type Call struct {
	api.Calls
	// Rate is calls per second, Failing errors per second, over the last [Window]; Mean is the latency of these.
	Rate, Failing float64
	Mean          time.Duration
}

// Window is what rates are of.
const Window = 10 * time.Second

// Burst is some calls that were told together: an entry of the timeline.
type Burst struct {
	At                      time.Time
	VCenter, Client, Method string
	Calls, Errors           uint64
	Mean                    time.Duration
	Error                   string
}

type calls struct{ rows map[string]api.Calls }

func newCalls() calls { return calls{rows: map[string]api.Calls{}} }

func (c *calls) apply(_ time.Time, row api.Calls) {
	c.rows[row.VCenter+"\x00"+row.Client+"\x00"+row.Method] = row
}

// Calls lists who calls what: vCenters, clients and methods by name.
func (s *State) Calls() []Call {
	var all []Call
	for _, row := range s.calls.rows {
		all = append(all, Call{Calls: row})
	}
	return all
}

// Bursts are the newest calls that were told, oldest first, as many as are kept.
func (s *State) Bursts() []Burst { return nil }
