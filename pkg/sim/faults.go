package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Hooks for the rules of the gate.

const restSessionHeader = "vmware-api-session-id"

// gateHooks adds the simulator's hooks to the options of a gate.
func (v *VCenter) gateHooks(o gate.Options) gate.Options {
	o.Identify, o.Name, o.FailTask, o.DropSession = v.identify, v.nameOf, v.failTask, v.dropSession
	return o
}

// identify returns the session of a call. Ended sessions do not count: clients send old cookies when they log in again.
func (v *VCenter) identify(r *http.Request) (session, user string) {
	secret, name := "", soap.SessionCookieName
	if strings.HasPrefix(r.URL.Path, "/rest/") || strings.HasPrefix(r.URL.Path, "/api/") {
		secret, name = r.Header.Get(restSessionHeader), restSessionHeader
	}
	if secret == "" {
		c, err := r.Cookie(name)
		if err != nil {
			return "", ""
		}
		secret = c.Value
	}
	session, user, _ = v.service.access.Identify(secret, r.UserAgent())
	return session, user
}

// nameOf returns the name of an object from the index, without a lock: a task may hold the object's lock for its whole duration.
func (v *VCenter) nameOf(ref types.ManagedObjectReference) string {
	return v.corrections.Name(ref)
}

func (v *VCenter) dropSession(key string) { v.service.access.EndSession(key) }

// failTask creates a task that waits and then fails. Like a task of an extension, it locks nothing and no other work waits for
// it.
func (v *VCenter) failTask(method string, this types.ManagedObjectReference, after time.Duration, fault types.LocalizedMethodFault) (types.ManagedObjectReference, error) {
	ctx := vc.Fresh(v.service.ctx)
	t := simulator.CreateTask(this, method, nil)
	t.Info.Name = method
	t.Info.DescriptionId = this.Type + "." + description(method)
	t.Info.EntityName = cmp.Or(v.nameOf(this), this.Value)
	if _, entity := ctx.Map.Get(this).(mo.Entity); !entity { // such as CNS's manager, which vim25 does not have
		root := vim25.ServiceInstance
		t.Info.Entity, t.Info.EntityName = &root, ""
	}
	t.Info.StartTime, t.Info.State = new(time.Now()), types.TaskInfoStateRunning
	fault.LocalizedMessage = cmp.Or(fault.LocalizedMessage, fmt.Sprintf("%T", fault.Fault)) // pkg/sim/corrections adds a message
	ref := ctx.Map.Put(t).Reference()
	ctx.Map.AtomicUpdate(ctx, t, []types.PropertyChange{vc.P("info.key", ref.Value), vc.P("info.task", ref)})
	v.failing.Go(func() {
		wait := time.NewTimer(after)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-v.closing:
			return
		}
		ctx := vc.Fresh(v.service.ctx)
		ctx.WithLock(t, func() {
			if t.Info.State != types.TaskInfoStateRunning {
				return // canceled
			}
			ctx.Update(t, []types.PropertyChange{
				vc.P("info.completeTime", time.Now()), vc.P("info.state", types.TaskInfoStateError), vc.P("info.error", &fault),
			})
		})
	})
	return ref, nil
}

// description returns the method in the ID of a task's description ("powerOnVM" of PowerOnVM_Task).
func description(method string) string {
	r := []rune(strings.TrimSuffix(method, "_Task"))
	if len(r) > 0 {
		r[0] = unicode.ToLower(r[0])
	}
	return string(r)
}

// slowness delays the end of tasks. Clients of the gate get another task, which ends some time after the real one, so that
// nothing is locked during the delay.
type slowness struct {
	mu      sync.Mutex
	by      time.Duration
	changed chan struct{} // closed when by changes
}

// SetSlowTasks makes each task that a client starts from now on take that much longer; 0 ends that, and the current delays.
func (v *VCenter) SetSlowTasks(by time.Duration) {
	v.slow.mu.Lock()
	defer v.slow.mu.Unlock()
	if v.slow.changed != nil {
		close(v.slow.changed)
	}
	v.slow.by, v.slow.changed = by, make(chan struct{})
}

// SlowTasks returns the delay set by SetSlowTasks.
func (v *VCenter) SlowTasks() time.Duration {
	by, _ := v.slow.now()
	return by
}

func (s *slowness) now() (time.Duration, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by, s.changed
}

// slowTasks replaces the tasks in the answers of next by slow ones.
func (v *VCenter) slowTasks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by, changed := v.slow.now()
		if by <= 0 || !strings.HasPrefix(r.URL.Path, vim25.Path) && r.URL.Path != "/vsanHealth" && r.URL.Path != "/vslm/sdk" {
			next.ServeHTTP(w, r)
			return
		}
		held := &heldAnswer{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(held, r)
		held.finish(func(task string) string { return v.slowTask(task, by, changed) })
	})
}

// heldAnswer buffers answers that are short enough to be a task.
type heldAnswer struct {
	http.ResponseWriter
	status int
	held   bytes.Buffer
	passed bool
}

// Unwrap supports http.ResponseController.
func (w *heldAnswer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *heldAnswer) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *heldAnswer) Write(p []byte) (int, error) {
	const longest = 4096
	if !w.passed && w.held.Len()+len(p) <= longest {
		return w.held.Write(p)
	}
	if !w.passed {
		w.pass(w.held.Bytes())
	}
	return w.ResponseWriter.Write(p)
}

func (w *heldAnswer) pass(body []byte) {
	w.passed = true
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write(body) // the client may have disconnected
}

// finish sends the answer, with another task if it is one.
func (w *heldAnswer) finish(other func(task string) string) {
	const open, end = `<returnval type="Task">`, `</returnval>`
	if w.passed {
		return
	}
	body := w.held.Bytes()
	if before, rest, ok := bytes.Cut(body, []byte(open)); ok {
		if task, after, ok := bytes.Cut(rest, []byte(end)); ok {
			body = bytes.Join([][]byte{before, []byte(open), []byte(other(string(task))), []byte(end), after}, nil)
			if w.Header().Get("Content-Length") != "" {
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			}
		}
	}
	w.pass(body)
}

// slowTask returns a task with the outcome of another one, by later, or when by changes.
func (v *VCenter) slowTask(task string, by time.Duration, changed <-chan struct{}) string {
	ctx := vc.Fresh(v.service.ctx)
	started, ok := ctx.Map.Get(types.ManagedObjectReference{Type: "Task", Value: task}).(*simulator.Task)
	if !ok {
		return task
	}
	slow := simulator.CreateTask(started.Self, "", nil)
	ctx.WithLock(started, func() {
		slow.Info = started.Info
		slow.Info.CompleteTime, slow.Info.Result, slow.Info.Error, slow.Info.Progress = nil, nil, nil, 0
	})
	slow.Info.State = types.TaskInfoStateRunning
	if slow.Info.StartTime == nil {
		slow.Info.StartTime = new(time.Now())
	}
	slow.Self = types.ManagedObjectReference{}
	ref := ctx.Map.Put(slow).Reference()
	ctx.Map.AtomicUpdate(ctx, slow, []types.PropertyChange{vc.P("info.key", ref.Value), vc.P("info.task", ref)})
	v.failing.Go(func() { v.endSlowTask(started, slow, by, changed) })
	return ref.Value
}

func (v *VCenter) endSlowTask(started, slow *simulator.Task, by time.Duration, changed <-chan struct{}) {
	const look = 50 * time.Millisecond // the poll interval for tasks that are slow themselves
	wait := time.NewTimer(by)
	defer wait.Stop()
	ctx := vc.Fresh(v.service.ctx)
	for {
		select {
		case <-wait.C:
		case <-changed:
			changed = nil
		case <-v.closing:
			return
		}
		var info types.TaskInfo
		ctx.WithLock(started, func() { info = started.Info })
		if info.State != types.TaskInfoStateSuccess && info.State != types.TaskInfoStateError {
			wait.Reset(look)
			continue
		}
		ctx.WithLock(slow, func() {
			if slow.Info.State != types.TaskInfoStateRunning {
				return // canceled
			}
			changes := []types.PropertyChange{vc.P("info.completeTime", time.Now()), vc.P("info.state", info.State), vc.P("info.result", info.Result)}
			if info.Error != nil {
				changes = append(changes, vc.P("info.error", info.Error))
			}
			ctx.Update(slow, changes)
		})
		return
	}
}
