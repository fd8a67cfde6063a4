package truth

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// collectors remembers which sessions have made history collectors. vcsim allows 32 of them in all, and keeps those of
// sessions that are gone: a vCenter whose clients do not tidy up would soon refuse to make any.
type collectors struct {
	mu       sync.Mutex
	sessions map[string]*simulator.Session
}

// note remembers the session of a call that makes a collector.
func (c *collectors) note(ctx *simulator.Context, method *simulator.Method) {
	switch method.Name {
	case "CreateCollectorForEvents", "CreateCollectorForTasks":
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		c.sessions = make(map[string]*simulator.Session)
	}
	c.sessions[ctx.Session.Key] = ctx.Session
}

// EndSession destroys the history collectors of a session that has ended.
func (c *Corrections) EndSession(base *simulator.Context, key string) {
	c.collectors.mu.Lock()
	session := c.collectors.sessions[key]
	delete(c.collectors.sessions, key)
	c.collectors.mu.Unlock()
	if session == nil {
		return
	}
	ctx := vc.Fresh(base)
	ctx.Session = session
	for _, kind := range []string{eventCollector, "TaskHistoryCollector"} {
		for _, obj := range session.AllReference(kind) {
			if h, ok := obj.(historyCollector); ok {
				ctx.WithLock(ctx.Map.EventManager(), func() { h.DestroyCollector(ctx, &types.DestroyCollector{This: obj.Reference()}) })
			}
		}
	}
}
