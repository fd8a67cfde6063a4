package inventory

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// markFolder makes a folder that the topology lists. The path of root is prefix.
func (b *builder) markFolder(root *simulator.Folder, prefix string, spec topology.Folder) error {
	f, err := b.folder(root, prefix, spec.Path)
	if err != nil {
		return fmt.Errorf("folder %q: %w", spec.Path, err)
	}
	b.tags.place(f.Self, spec.Place)
	b.tags.mark(f.Self, spec.Tags)
	if len(spec.Permissions) > 0 {
		b.built.Grants = append(b.built.Grants, Grant{f.Self, spec.Permissions})
	}
	return nil
}

// folder returns the folder at path below root, making what is missing. The path of root is prefix.
func (b *builder) folder(root *simulator.Folder, prefix, path string) (*simulator.Folder, error) {
	f := root
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		name = escape(name)
		prefix += "/" + name
		next, err := b.child(f, name, prefix)
		if err != nil {
			return nil, err
		}
		f = next
	}
	return f, nil
}

// child returns the folder of that escaped name in f, making it if there is none; vcsim escapes names itself.
func (b *builder) child(f *simulator.Folder, name, path string) (*simulator.Folder, error) {
	if e := b.sim.Map.FindByName(name, f.ChildEntity); e != nil {
		if child, ok := e.(*simulator.Folder); ok {
			return child, nil
		}
		return nil, fmt.Errorf("%q is a %s", name, e.Reference().Type)
	}
	ctx := b.fresh()
	var body *methods.CreateFolderBody
	ctx.WithLock(f, func() {
		body = f.CreateFolder(ctx, &types.CreateFolder{This: f.Self, Name: unescape(name)}).(*methods.CreateFolderBody)
	})
	if err := vc.Err(body); err != nil {
		return nil, err
	}
	b.built.Objects = append(b.built.Objects, Object{path, body.Res.Returnval})
	return b.sim.Map.Get(body.Res.Returnval).(*simulator.Folder), nil
}
