package property

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// defaultMaxObjects is vCenter's limit of object updates in one answer; clients can ask for less.
const defaultMaxObjects = 100

// SetLimit limits the object updates in an answer of WaitForUpdatesEx, for new calls; 0 means vCenter's limit, 100.
func (s *Service) SetLimit(n int) { s.limit.Store(int32(n)) }

// Limit returns the limit of object updates in an answer.
func (s *Service) Limit() int {
	if n := s.limit.Load(); n > 0 {
		return int(n)
	}
	return defaultMaxObjects
}

// patience limits the time and the size of a wait.
type patience struct {
	wait  time.Duration // 0: answer at once
	limit int           // object updates
}

// WaitForUpdatesEx waits until something has changed that the client has not seen, and returns it. The answer is empty after
// MaxWaitSeconds (or, without it, Options.MaxWait). It is truncated after MaxObjectUpdates, at most 100, and the rest follows
// without waiting.
//
// The version must be empty, to start again, or that of the last answer. The previous one gets the last answer again, for a
// client that lost it. Any other fails with InvalidCollectorVersion. A second wait on a collector ends the first with
// RequestCanceled.
func (pc *PropertyCollector) WaitForUpdatesEx(ctx *simulator.Context, r *types.WaitForUpdatesEx) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.WaitForUpdatesEx(ctx, r)
	}
	body := new(methods.WaitForUpdatesExBody)
	p, fault := c.service.patience(r.Options)
	if fault == nil {
		var set *types.UpdateSet
		if set, fault = c.wait(ctx, r.Version, p); fault == nil {
			body.Res = &types.WaitForUpdatesExResponse{Returnval: set}
			return body
		}
	}
	body.Fault_ = soapFault(fault)
	return body
}

// WaitForUpdates is WaitForUpdatesEx without options or truncation. Its answer cannot be empty, so after Options.MaxWait it has
// no updates.
func (pc *PropertyCollector) WaitForUpdates(ctx *simulator.Context, r *types.WaitForUpdates) soap.HasFault {
	c := pc.state(ctx)
	if c == nil {
		return pc.PropertyCollector.WaitForUpdates(ctx, r)
	}
	body := new(methods.WaitForUpdatesBody)
	set, fault := c.wait(ctx, r.Version, patience{wait: c.service.options.MaxWait, limit: math.MaxInt})
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	if set == nil {
		set = &types.UpdateSet{Version: r.Version}
	}
	body.Res = &types.WaitForUpdatesResponse{Returnval: *set}
	return body
}

// CheckForUpdates returns changes without waiting; empty if there are no changes. vcsim does not implement it.
func (pc *PropertyCollector) CheckForUpdates(ctx *simulator.Context, r *types.CheckForUpdates) soap.HasFault {
	body := new(methods.CheckForUpdatesBody)
	c := pc.state(ctx)
	if c == nil {
		body.Fault_ = soapFault(&types.NotSupported{})
		return body
	}
	set, fault := c.wait(ctx, r.Version, patience{limit: math.MaxInt})
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = &types.CheckForUpdatesResponse{Returnval: set}
	return body
}

// patience parses the options of a wait.
func (s *Service) patience(o *types.WaitOptions) (patience, types.BaseMethodFault) {
	p := patience{wait: s.options.MaxWait, limit: s.Limit()}
	if o == nil {
		return p, nil
	}
	if n := o.MaxWaitSeconds; n != nil {
		if *n < 0 {
			return p, &types.InvalidArgument{InvalidProperty: "options.maxWaitSeconds"}
		}
		p.wait = time.Duration(*n) * time.Second
	}
	if n := o.MaxObjectUpdates; n < 0 {
		return p, &types.InvalidArgument{InvalidProperty: "options.maxObjectUpdates"}
	} else if n > 0 {
		p.limit = min(p.limit, int(n))
	}
	return p, nil
}

// wait implements the three calls above. A nil set is an empty answer.
func (c *collector) wait(ctx *simulator.Context, version string, p patience) (*types.UpdateSet, types.BaseMethodFault) {
	w, fault := c.begin(ctx)
	if fault != nil {
		return nil, fault
	}
	defer c.finish(w)

	last, v := c.begun(version)
	switch v {
	case unknown:
		return nil, new(types.InvalidCollectorVersion)
	case again:
		return last, nil
	}
	// The first answer is returned at once, even if empty, and so is the one after a truncated answer, which promised more.
	// after a truncated answer, which promised more.
	atOnce := v == fresh || last != nil && last.Truncated != nil

	deadline := time.NewTimer(p.wait)
	defer deadline.Stop()
	for {
		set := c.updates(ctx, p.limit)
		if len(set.FilterSet) != 0 || atOnce {
			return c.answer(version, set), nil
		}
		if p.wait == 0 {
			return nil, nil
		}
		select {
		case <-c.wake:
			if ended, fault := c.gather(ctx, w, deadline.C); ended {
				return nil, fault
			}
		case <-w.canceled:
			return nil, w.fault
		case <-ctx.Done():
			return nil, new(types.RequestCanceled)
		case <-deadline.C:
			return nil, nil
		}
	}
}

// gather waits for the rest of a burst. It reports whether the wait is over, and its outcome.
func (c *collector) gather(ctx *simulator.Context, w *waiter, deadline <-chan time.Time) (bool, types.BaseMethodFault) {
	pause := time.NewTimer(c.service.options.Gather)
	defer pause.Stop()
	select {
	case <-pause.C:
		return false, nil
	case <-w.canceled:
		return true, w.fault
	case <-ctx.Done():
		return true, new(types.RequestCanceled)
	case <-deadline:
		return true, nil
	}
}

// updates collects at most limit object updates.
func (c *collector) updates(ctx *simulator.Context, limit int) *types.UpdateSet {
	c.mu.Lock()
	filters := c.filters
	c.dropGone()
	c.mu.Unlock()

	c.service.heal(ctx)
	for _, f := range filters {
		f.refresh(ctx)
	}
	set := new(types.UpdateSet)
	for _, f := range filters {
		if u := f.take(ctx, limit); len(u.ObjectSet) != 0 || len(u.MissingSet) != 0 {
			set.FilterSet = append(set.FilterSet, u)
			limit -= len(u.ObjectSet)
		}
	}

	if limit == 0 && c.pending(filters) {
		set.Truncated = new(true)
	}
	return set
}

// pending reports whether filters hold unread notes.
func (c *collector) pending(filters []*filter) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(filters, func(f *filter) bool { return f.pending() != 0 })
}

// answers tracks the versions that a client may name. The zero value has none.
type answers struct {
	// count is the number of the last version.
	count uint64
	// asked is the version in the request for last.
	asked string
	last  *types.UpdateSet
}

// verdict is the meaning of the version in a request.
type verdict int

const (
	fresh   verdict = iota // the client knows nothing
	next                   // the client has the last answer
	again                  // the client has the previous one
	unknown                // any other: changes would be lost
)

// judge interprets the version of a request.
func (a *answers) judge(version string) verdict {
	switch {
	case version == "":
		return fresh
	case a.last == nil:
		return unknown
	case version == a.last.Version:
		return next
	case version == a.asked:
		return again
	}
	return unknown
}

// give stamps an answer with its version.
func (a *answers) give(asked string, set *types.UpdateSet) *types.UpdateSet {
	a.count++
	set.Version = strconv.FormatUint(a.count, 10)
	a.asked, a.last = asked, set
	return set
}

// invalidate makes every version unknown.
func (a *answers) invalidate() { a.asked, a.last = "", nil }
