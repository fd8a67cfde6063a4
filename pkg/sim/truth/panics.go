package truth

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// panics sees to it that a task that panics has failed, no more: vcsim runs tasks on goroutines of their own, where a
// panic ends the process. Arguments that are known to bring it about are refused before (see checkArguments); this is for
// the others.
type panics struct {
	ref    vc.Ref
	logger *slog.Logger
}

func newPanics(logger *slog.Logger) *panics {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &panics{ref: vc.Ref{Type: "SandboxPanics", Value: "sandbox-panics"}, logger: logger}
}

// Reference implements simulator.RegisterObject.
func (p *panics) Reference() vc.Ref { return p.ref }

// PutObject implements simulator.RegisterObject: the task is not running yet.
func (p *panics) PutObject(_ *simulator.Context, obj mo.Reference) {
	task, ok := obj.(*simulator.Task)
	if !ok || task.Execute == nil {
		return
	}
	run := task.Execute
	task.Execute = func(t *simulator.Task) (result types.AnyType, fault types.BaseMethodFault) {
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			p.logger.Error("panic in a task", "task", t.Info.Name, "panic", r, "stack", string(debug.Stack()))
			result, fault = nil, &types.SystemError{Reason: fmt.Sprint(r)}
		}()
		return run(t)
	}
}

// UpdateObject implements simulator.RegisterObject.
func (p *panics) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject implements simulator.RegisterObject.
func (p *panics) RemoveObject(*simulator.Context, vc.Ref) {}

// calls is a request's calls of vcsim, with what they hold locks by.
type calls struct {
	all   []call
	named atomic.Bool // a task has the name of the method
}

type call struct {
	ctx    *simulator.Context
	this   vc.Ref
	method string
}

type callsKey struct{}

// Unlock releases the lock of the object of a call that panicked in next, which vcsim would keep for ever: nobody could
// call or read that object any more. The panic itself continues, to somebody who makes an answer of it. [Corrections.Check]
// must be asked for every call.
func Unlock(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made := new(calls)
		defer func() {
			if p := recover(); p != nil {
				for _, c := range made.all {
					free(c.ctx, c.this)
				}
				panic(p)
			}
		}()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callsKey{}, made)))
	})
}

// noteCall remembers a call for [Unlock].
func noteCall(ctx *simulator.Context, m *simulator.Method) {
	if made := callsOf(ctx); made != nil {
		made.all = append(made.all, call{ctx, m.This, m.Name})
	}
}

// callsOf returns the calls of the request that ctx belongs to, nil when it belongs to none.
func callsOf(ctx *simulator.Context) *calls {
	r := hidden[http.Request](ctx, "req")
	if r == nil {
		return nil
	}
	made, _ := r.Context().Value(callsKey{}).(*calls)
	return made
}

// taskName returns the name of the task that a call starts: its method. It is empty for further tasks of the call.
func (c *calls) taskName() string {
	if c == nil || len(c.all) == 0 {
		return ""
	}
	method := c.all[len(c.all)-1].method
	if !strings.HasSuffix(method, "_Task") || c.named.Swap(true) {
		return ""
	}
	return method
}

// free releases the object's lock once, if ctx holds it. Managers that have locks of their own keep theirs.
func free(ctx *simulator.Context, ref vc.Ref) {
	obj := ctx.Map.Get(ref)
	if _, own := obj.(sync.Locker); obj == nil || own {
		return
	}
	defer func() { _ = recover() }() // vcsim's way to say that it was not held
	release := ctx.Map.AcquireLock(ctx, ref)
	release()
	release()
}

// hidden reads a pointer from a field that is not exported, nil when there is none of that name.
func hidden[T any](obj any, field string) *T {
	f := reflect.ValueOf(obj).Elem().FieldByName(field)
	if !f.IsValid() || f.Type() != reflect.TypeFor[*T]() {
		return nil
	}
	return (*T)(f.UnsafePointer())
}
