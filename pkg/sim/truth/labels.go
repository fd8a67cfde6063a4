package truth

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// labels are the names of all entities, to be read without their locks: a task keeps its object locked until its end.
type labels struct {
	ref   vc.Ref
	names sync.Map // vc.Ref → string
}

func newLabels(base *simulator.Context) *labels {
	l := &labels{ref: vc.Ref{Type: "SandboxLabels", Value: "sandbox-labels"}}
	for _, e := range base.Map.All("") {
		vc.Fresh(base).WithLock(e, func() { l.names.Store(e.Reference(), e.Entity().Name) })
	}
	return l
}

// Name is the name of an entity, "" when there is none of that reference. It never blocks.
func (c *Corrections) Name(ref vc.Ref) string {
	name, _ := c.labels.names.Load(ref)
	text, _ := name.(string)
	return text
}

// Reference implements simulator.RegisterObject.
func (l *labels) Reference() vc.Ref { return l.ref }

// PutObject implements simulator.RegisterObject: the object is still its maker's alone, or locked.
func (l *labels) PutObject(_ *simulator.Context, obj mo.Reference) {
	if e, ok := obj.(mo.Entity); ok {
		l.names.Store(obj.Reference(), e.Entity().Name)
	}
}

// UpdateObject implements simulator.RegisterObject.
func (l *labels) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	for _, c := range changes {
		if name, ok := c.Val.(string); ok && c.Name == "name" {
			l.names.Store(obj.Reference(), name)
		}
	}
}

// RemoveObject implements simulator.RegisterObject.
func (l *labels) RemoveObject(_ *simulator.Context, ref vc.Ref) { l.names.Delete(ref) }
