package store

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// paths are the objects of the tree with their inventory paths.
func (in *installer) paths() []inventory.Object {
	all := []inventory.Object{{Path: "/", Ref: in.content.RootFolder}}
	for _, o := range in.order {
		e, ok := o.obj.(mo.Entity)
		if !ok || !isEntity(o.ref.Type) || o.ref == in.content.RootFolder {
			continue
		}
		all = append(all, inventory.Object{Path: in.path(e.Entity()), Ref: o.ref})
	}
	return all
}

func (in *installer) path(e *mo.ManagedEntity) string {
	var names []string
	for e.Self != in.content.RootFolder {
		names = append(names, e.Name)
		parent := e.Parent
		if parent == nil {
			break
		}
		up, ok := in.entity(vc.Ref{Type: parent.Type, Value: parent.Value})
		if !ok {
			break
		}
		e = up
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/")
}
