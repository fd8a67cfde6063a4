package apply

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Op is the operation of a step.
type Op string

// The operations.
const (
	Create Op = "create"
	Change Op = "change"
	Remove Op = "remove"
)

// Kind is a kind of object.
type Kind string

// The kinds of objects, in the order of their creation.
const (
	KindCategory   Kind = "TagCategory"
	KindTag        Kind = "Tag"
	KindPolicy     Kind = "StoragePolicy"
	KindRole       Kind = "Role"
	KindFolder     Kind = "Folder"
	KindDatacenter Kind = "Datacenter"
	KindCluster    Kind = "Cluster"
	KindHost       Kind = "Host"
	KindNetwork    Kind = "Network"
	KindSwitch     Kind = "Switch"
	KindPortGroup  Kind = "PortGroup"
	KindDatastore  Kind = "Datastore"
	KindPool       Kind = "Pool"
	KindVApp       Kind = "VApp"
	KindVM         Kind = "VM"
	KindRoot       Kind = "RootFolder"
)

// Step is one change. It takes a few calls; a run may stop between two steps.
type Step struct {
	VCenter string `json:"vcenter"`
	Op      Op     `json:"op"`
	Kind    Kind   `json:"kind"`
	// Path is the object's inventory path, or its name if it has none (tags: category/name).
	Path string `json:"path"`
	// What describes the change if the operation does not: "2 → 4 CPUs".
	What string `json:"what,omitempty"`
	// PowerOff is set if the step powers off a running VM.
	PowerOff bool `json:"powerOff,omitempty"`

	run func(context.Context) error
}

// String returns the step on one line.
func (s Step) String() string {
	text := fmt.Sprintf("%s %s %s%s", s.Op, s.Kind, s.VCenter, "/"+strings.TrimPrefix(s.Path, "/"))
	if s.What != "" {
		text += ": " + s.What
	}
	return text
}

// Run executes the step. It must belong to a [Plan], and run once, after the previous steps.
func (s Step) Run(ctx context.Context) error {
	if err := s.run(ctx); err != nil {
		return &StepError{Step: s, Err: err}
	}
	return nil
}

// StepError is a failed step.
type StepError struct {
	Step Step
	Err  error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("vcenter %q: %s %s %s: %v", e.Step.VCenter, e.Step.Op, e.Step.Kind, e.Step.Path, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// Reason is a difference that cannot be changed while the vCenter runs.
type Reason struct {
	VCenter string `json:"vcenter,omitempty"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// String returns the reason on one line.
func (r Reason) String() string {
	where := strings.TrimSuffix(r.VCenter+"/"+strings.TrimPrefix(r.Path, "/"), "/")
	return strings.TrimPrefix(where, "/") + ": " + r.Message
}

// Unchangeable is the error of an impossible plan, with all reasons.
type Unchangeable struct{ Reasons []Reason }

func (e *Unchangeable) Error() string {
	lines := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		lines[i] = r.String()
	}
	return "cannot be changed live:\n" + strings.Join(lines, "\n")
}

// differs plans changes of an existing object.
func (p *planner) differs(n *named, live *entity) {
	switch n.kind {
	case KindDatacenter:
		in := p.all[get[ref](live, "parent")]
		if in == nil || in.key == folderKey(n.dc.Folder) {
			return
		}
		p.step(Change, n.kind, n.path, "moved from "+p.path(live), func(ctx context.Context, c *vim25.Client) error {
			to, err := p.find(folderKey(n.dc.Folder))
			if err != nil {
				return err
			}
			t, err := object.NewFolder(c, to).MoveInto(ctx, []ref{live.ref})
			return wait(ctx, t, err)
		})
	case KindHost:
		cores, memory := get[int16](live, "hardware.cpuInfo.numCpuCores"), get[int64](live, "hardware.memorySize")
		if want := min(n.host.CPUs, 1<<14); int32(cores) != want {
			p.cannot(n.path, "has %d CPUs, and hardware is not changed: %d are wanted", cores, want)
		}
		if topology.Bytes(memory) != n.host.Memory {
			p.cannot(n.path, "has %s of memory, and hardware is not changed: %s is wanted", topology.Bytes(memory), n.host.Memory)
		}
	case KindSwitch:
		p.switchDiffers(n, live)
	case KindPortGroup:
		p.portGroupDiffers(n, live)
	case KindDatastore:
		p.datastoreDiffers(n, live)
	}
}

// Client connects to a vCenter as a user with all privileges. Each func calls its argument with a working session until ctx ends;
// concurrent calls are allowed.
type Client interface {
	Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error
	DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error
}

// Sessions is a [Client] of two logged-in sessions.
type Sessions struct {
	Vim  *vim25.Client
	REST *rest.Client
}

// Do implements [Client].
func (s Sessions) Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
	return f(ctx, s.Vim)
}

// DoREST implements [Client].
func (s Sessions) DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error {
	return f(ctx, s.REST)
}

type ref = types.ManagedObjectReference

// task waits for a task and returns its result.
func task[T any](ctx context.Context, c *vim25.Client, started T, id func(T) ref, err error) (types.AnyType, error) {
	if err != nil {
		return nil, err
	}
	info, err := object.NewTask(c, id(started)).WaitForResult(ctx, nil)
	if err != nil {
		return nil, err
	}
	return info.Result, nil
}

// wait waits for a task of govmomi's object package.
func wait(ctx context.Context, t *object.Task, err error) error {
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}
