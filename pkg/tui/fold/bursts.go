package fold

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Burst is some calls that were told together: an entry of the timeline.
type Burst struct {
	// Seq counts bursts, from 1.
	Seq                     uint64
	At                      time.Time
	VCenter, Client, Method string
	Calls, Errors           uint64
	Mean                    time.Duration
	// Error is what the newest call that failed was answered, if one did.
	Error string
}

// KeepBursts is how many bursts a state remembers.
const KeepBursts = 4096

// Bursts are the newest calls that were told, oldest first, [KeepBursts] at most. The slice is not to be changed.
func (s *State) Bursts() []Burst { return s.calls.bursts }

func (c *calls) burst(row api.Calls, d sample) {
	c.told++
	b := Burst{
		Seq: c.told, At: d.at, VCenter: row.VCenter, Client: row.Client, Method: row.Method,
		Calls: d.calls, Errors: d.errors, Mean: d.latency / time.Duration(d.calls),
	}
	if d.errors > 0 {
		b.Error = row.LastError
	}
	c.bursts = append(c.bursts, b)
	if n := len(c.bursts) - KeepBursts; n > 0 {
		c.bursts = c.bursts[n:] // what is before goes when the slice has to grow
	}
}
