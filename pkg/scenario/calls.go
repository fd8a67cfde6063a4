package scenario

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// callsTime bounds a request for calls that are only recorded.
const callsTime = 5 * time.Second

// callsNow returns the calls so far, or nil if they are not known.
func (s *session) callsNow(ctx context.Context) []api.Calls {
	ctx, cancel := context.WithTimeout(ctx, callsTime)
	defer cancel()
	calls, err := s.sandbox.Calls(ctx)
	if err != nil {
		return nil
	}
	return calls
}

// callsSince returns the calls between two readings, without methods that were not called.
func callsSince(now, before []api.Calls) []api.Calls {
	type key struct{ vcenter, client, method string }
	was := map[key]api.Calls{}
	for _, c := range before {
		was[key{c.VCenter, c.Client, c.Method}] = c
	}
	var made []api.Calls
	for _, c := range now {
		if b := was[key{c.VCenter, c.Client, c.Method}]; b.Calls <= c.Calls && b.Errors <= c.Errors { // else the counter restarted
			c.Calls, c.Errors, c.Hits, c.Latency = c.Calls-b.Calls, c.Errors-b.Errors, c.Hits-min(b.Hits, c.Hits), c.Latency-min(b.Latency, c.Latency)
		}
		if c.Errors == 0 {
			c.LastError = "" // it is older
		}
		if c.Calls > 0 {
			made = append(made, c)
		}
	}
	return made
}
