package inventory

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Target is an empty vCenter that does not serve yet.
type Target struct {
	// Context is the vCenter's own; every operation works on a copy.
	Context *simulator.Context
	// Tags is its vAPI endpoint and Login an account there.
	Tags  http.Handler
	Login *url.Userinfo
	// Dir holds the files of its datastores.
	Dir string
}

// Build makes the inventory of the vCenter and returns what the guests of its VMs report when they are up; it is for
// guest.Start to act on. It stops with ctx's error between two objects.
func Build(ctx context.Context, t Target, v topology.VCenter, categories topology.Categories) (map[vc.Ref]guest.Info, error) {
	namespace, err := uuid.Parse(v.InstanceUUID)
	if err != nil {
		return nil, fmt.Errorf("instance UUID %q: %w", v.InstanceUUID, err)
	}
	b := &builder{
		ctx:       ctx,
		sim:       t.Context,
		target:    t,
		namespace: namespace,
		root:      t.Context.Map.Get(vimRoot(t.Context)).(*simulator.Folder),
		guests:    make(map[vc.Ref]guest.Info),
	}
	for _, f := range v.Folders {
		ref, err := b.folder(b.root, f.Path)
		if err != nil {
			return nil, fmt.Errorf("folder %q: %w", f.Path, err)
		}
		b.place(ref.Self, f.Place)
	}
	for _, dc := range v.Datacenters {
		if err := b.datacenter(dc); err != nil {
			return nil, fmt.Errorf("datacenter %q: %w", dc.Name, err)
		}
	}
	if err := b.attachTags(categories); err != nil {
		return nil, fmt.Errorf("tags: %w", err)
	}
	b.forgetTasks()
	return b.guests, nil
}

// vimRoot is the reference of the root folder.
func vimRoot(ctx *simulator.Context) vc.Ref {
	return ctx.Map.Get(types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}).(*simulator.ServiceInstance).Content.RootFolder
}

type builder struct {
	ctx       context.Context
	sim       *simulator.Context
	target    Target
	namespace uuid.UUID
	root      *simulator.Folder
	guests    map[vc.Ref]guest.Info
	regions   []attachment
	zones     []attachment
}

// datacenter is a datacenter under construction.
type datacenter struct {
	topology.Datacenter
	obj      *simulator.Datacenter
	networks map[string]vc.Ref
	hosts    []*host
	byName   map[string]*host
	taken    map[home]bool
}

func (b *builder) fresh() *simulator.Context { return vc.Fresh(b.sim) }

// derive makes a UUID for an object of this vCenter from its path: the same in each run, different in each vCenter.
func (b *builder) derive(path ...string) string {
	return uuid.NewSHA1(b.namespace, []byte(strings.Join(path, "\x00"))).String()
}

// file names a directory for an inventory object; names may hold anything but a NUL.
func (b *builder) file(names ...string) string {
	parts := []string{b.target.Dir}
	for _, n := range names {
		n = url.PathEscape(n)
		if strings.Trim(n, ".") == "" {
			n = strings.ReplaceAll(n, ".", "%2E")
		}
		parts = append(parts, n)
	}
	return filepath.Join(parts...)
}

// folder returns the folder at path below root, making what is missing.
func (b *builder) folder(root *simulator.Folder, path string) (*simulator.Folder, error) {
	f := root
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		next, err := b.child(f, name)
		if err != nil {
			return nil, err
		}
		f = next
	}
	return f, nil
}

func (b *builder) child(f *simulator.Folder, name string) (*simulator.Folder, error) {
	if e := b.sim.Map.FindByName(name, f.ChildEntity); e != nil {
		if child, ok := e.(*simulator.Folder); ok {
			return child, nil
		}
		return nil, fmt.Errorf("%q is a %s", name, e.Reference().Type)
	}
	ctx := b.fresh()
	var body *methods.CreateFolderBody
	ctx.WithLock(f, func() {
		body = f.CreateFolder(ctx, &types.CreateFolder{This: f.Self, Name: name}).(*methods.CreateFolderBody)
	})
	if err := vc.Err(body); err != nil {
		return nil, err
	}
	return b.sim.Map.Get(body.Res.Returnval).(*simulator.Folder), nil
}

func (b *builder) datacenter(spec topology.Datacenter) error {
	f, err := b.folder(b.root, spec.Folder)
	if err != nil {
		return fmt.Errorf("folder %q: %w", spec.Folder, err)
	}
	ctx := b.fresh()
	var body *methods.CreateDatacenterBody
	ctx.WithLock(f, func() {
		body = f.CreateDatacenter(ctx, &types.CreateDatacenter{This: f.Self, Name: spec.Name}).(*methods.CreateDatacenterBody)
	})
	if err := vc.Err(body); err != nil {
		return err
	}
	dc := &datacenter{
		Datacenter: spec,
		obj:        b.sim.Map.Get(body.Res.Returnval).(*simulator.Datacenter),
		networks:   make(map[string]vc.Ref),
		byName:     make(map[string]*host),
		taken:      make(map[home]bool),
	}
	b.place(dc.obj.Self, spec.Place)
	for _, step := range []func(*datacenter) error{b.compute, b.connect, b.mount, b.machines} {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if err := step(dc); err != nil {
			return err
		}
	}
	return nil
}

// forgetTasks removes the tasks that building left: some 4 kB for each VM, which no client has ever seen.
func (b *builder) forgetTasks() {
	ctx := b.fresh()
	for _, obj := range b.sim.Map.AllReference("Task") {
		b.sim.Map.Remove(ctx, obj.Reference())
	}
	for _, e := range b.sim.Map.All("") {
		ctx.WithLock(e, func() { e.Entity().RecentTask = nil })
	}
	if m, ok := b.sim.Map.Get(types.ManagedObjectReference{Type: "TaskManager", Value: "TaskManager"}).(*simulator.TaskManager); ok {
		m.RecentTask = nil
	}
}
