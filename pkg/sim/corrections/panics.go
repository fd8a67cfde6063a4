package corrections

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

// panics turns a panic in a task into a failed task: vcsim runs tasks in goroutines, where a panic ends the process.
// checkArguments refuses arguments that are known to cause one; this handles the others.
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

// calls are a request's calls of vcsim, with the keys of their locks.
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

// Unlock releases the lock of an object whose call panicked in next; vcsim would hold it forever, and block every later call on
// that object. The panic itself continues to the caller. Every call must pass [Corrections.Check] or [Noted].
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

// Hook is vcsim's hook before a SOAP call.
type Hook = func(*simulator.Context, *simulator.Method) (mo.Reference, types.BaseMethodFault)

// Noted returns the hook of a registry beside the one of the inventory. It refuses a call without a mandatory argument, at which vcsim
// panics.
func Noted(next Hook) Hook {
	return func(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		noteCall(ctx, method)
		if receiver, fault := next(ctx, method); receiver != nil || fault != nil {
			return receiver, fault
		}
		body := reflect.Indirect(reflect.ValueOf(method.Body))
		if body.Kind() != reflect.Struct {
			return nil, nil
		}
		for field, value := range body.Fields() {
			if value.Kind() == reflect.Interface && value.IsNil() && !strings.Contains(field.Tag.Get("xml"), "omitempty") {
				return nil, &types.InvalidArgument{InvalidProperty: spelled(field.Name)}
			}
		}
		return nil, nil
	}
}

// noteCall records a call for [Unlock].
func noteCall(ctx *simulator.Context, m *simulator.Method) {
	if made := callsOf(ctx); made != nil {
		made.all = append(made.all, call{ctx, m.This, m.Name})
	}
}

// callsOf returns the calls of the request of ctx, or nil.
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

// free releases the object's lock once, if ctx holds it. Managers with their own locks keep them.
func free(ctx *simulator.Context, ref vc.Ref) {
	obj := ctx.Map.Get(ref)
	if _, own := obj.(sync.Locker); obj == nil || own {
		return
	}
	defer func() { _ = recover() }() // vcsim panics if it was not held
	release := ctx.Map.AcquireLock(ctx, ref)
	release()
	release()
}

// hidden returns a pointer from an unexported field, or nil if the field does not exist.
func hidden[T any](obj any, field string) *T {
	f := reflect.ValueOf(obj).Elem().FieldByName(field)
	if !f.IsValid() || f.Type() != reflect.TypeFor[*T]() {
		return nil
	}
	return (*T)(f.UnsafePointer())
}
