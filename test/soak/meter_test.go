package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// meter counts and times what is done, by name of the call or of the operation.
type meter struct {
	calls atomic.Int64

	mu     sync.Mutex
	slow   slowest
	counts map[string]int // calls and operations
	faults map[string]int // by type
	odd    map[string]int
	active map[*active]bool
}

// active is a call or operation that is under way.
type active struct {
	what  string
	since time.Time
	wait  time.Duration // intended
}

type slowest struct {
	what string
	took time.Duration
}

func (s slowest) String() string { return fmt.Sprintf("%s %s", s.what, s.took.Round(time.Millisecond)) }

func newMeter() *meter {
	m := &meter{counts: map[string]int{}, faults: map[string]int{}, odd: map[string]int{}, active: map[*active]bool{}}
	for _, o := range []string{
		"op.PowerOff", "op.PowerOn", "op.Suspend", "op.Reset", "op.Create", "op.Destroy", "op.Relocate", "op.Snapshot",
		"op.Reconfigure", "op.Attach", "op.Detach", "op.EnterMaintenance", "op.Disconnect", "op.ListView", "op.Update", "op.Kill",
	} {
		m.counts[o] = 0
	}
	return m
}

// begin times something until end; wait is how long it may do nothing on purpose.
func (m *meter) begin(what string, wait time.Duration) (end func()) {
	a := &active{what: what, since: time.Now(), wait: wait}
	m.mu.Lock()
	m.active[a] = true
	m.mu.Unlock()
	return func() {
		took := time.Since(a.since) - wait
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.active, a)
		m.counts[what]++
		if took > m.slow.took {
			m.slow = slowest{what, took}
		}
	}
}

// stuck lists what is under way for longer than that.
func (m *meter) stuck(limit time.Duration) (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for a := range m.active {
		if took := time.Since(a.since) - a.wait; took > limit {
			list = append(list, fmt.Sprintf("%s for %s", a.what, took.Round(time.Millisecond)))
		}
	}
	return list
}

// fault counts an error. Faults that a vCenter gives when others are faster are part of the game.
func (m *meter) fault(where string, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	name, ok := faultName(err)
	m.mu.Lock()
	defer m.mu.Unlock()
	if ok {
		m.faults[name]++
	} else {
		m.odd[where+": "+name]++
	}
}

func faultName(err error) (name string, expected bool) {
	if strings.Contains(err.Error(), "The session is not authenticated.") {
		return "NotAuthenticated", true // wrapped by govmomi in ways that lose the fault
	}
	var f types.AnyType
	if failed, ok := errors.AsType[task.Error](err); ok {
		f = failed.Fault()
	}
	for e := err; e != nil && f == nil; e = errors.Unwrap(e) {
		switch {
		case soap.IsSoapFault(e):
			f = soap.ToSoapFault(e).VimFault()
		case soap.IsVimFault(e):
			f = soap.ToVimFault(e)
		}
	}
	if f == nil {
		return err.Error(), false
	}
	t := reflect.TypeOf(f)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name(), slices.Contains([]string{
		"NotAuthenticated", "InvalidLogin", "ManagedObjectNotFound", "InvalidPowerState", "InvalidState", "TaskInProgress",
		"DuplicateName", "AlreadyExists", "NotFound", "HostNotConnected", "NoCompatibleHost", "InvalidHostState", "Timedout",
		"RequestCanceled", "InvalidCollectorVersion", "ResourceInUse", "FileAlreadyExists", "FileNotFound", "ToolsUnavailable",
		"InvalidHostConnectionState", "NoHost", "CannotAccessVmComponent", "CannotAccessVmConfig", "InvalidDatastoreState",
	}, t.Name())
}

func (m *meter) worst() slowest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.slow
}

func (m *meter) unexpected() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return listing(m.odd)
}

func (m *meter) operations() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make(map[string]int)
	for name, n := range m.counts {
		if strings.HasPrefix(name, "op.") {
			found[name] = n
		}
	}
	return found
}

func (m *meter) summary() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(listing(m.counts), ", ") + "; faults: " + strings.Join(listing(m.faults), ", ")
}

func listing(counts map[string]int) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return list
}

// roundTripper times the calls of a client.
type roundTripper struct {
	*meter
	soap.RoundTripper
}

// RoundTrip implements soap.RoundTripper.
func (r roundTripper) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	name := strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Body")
	wait := time.Duration(0)
	if w, ok := req.(*methods.WaitForUpdatesExBody); ok {
		if w.Req.Options == nil || w.Req.Options.MaxWaitSeconds == nil {
			// Until something changes: what is waited for is timed as a whole.
			r.calls.Add(1)
			return r.RoundTripper.RoundTrip(ctx, req, res)
		}
		wait = time.Duration(*w.Req.Options.MaxWaitSeconds) * time.Second
	}
	end := r.begin(name, wait)
	r.calls.Add(1)
	err := r.RoundTripper.RoundTrip(ctx, req, res)
	end()
	return err
}
