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
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Target is an empty vCenter that does not serve yet.
type Target struct {
	// Context is the vCenter's own; every operation works on a copy.
	Context *simulator.Context
	// Dir holds the files of its datastores.
	Dir string
	// Tagger makes tags. Nil: they are made through Tags.
	Tagger Tagger
	// Tags is the vCenter's vAPI endpoint and Login an account there.
	Tags  http.Handler
	Login *url.Userinfo
	// Policies takes storage policies. It may be nil where the topology has none.
	Policies Profiles
}

// Built is what has been built.
type Built struct {
	// Guests is what the guests of VMs report when they are up, for guest.Start to act on. A VM without tools is not in
	// it.
	Guests map[vc.Ref]guest.Info
	// Grants are the permissions that the topology asks for, in its order; they are not in force yet.
	Grants []Grant
	// Objects are the objects of the topology, those that exist by being named included, in the order of their making.
	Objects []Object
}

// Grant is the permissions on one object.
type Grant struct {
	On          vc.Ref
	Permissions []topology.Permission
}

// Object is an object of the inventory. Path is the one that govc and the finder use ("/dc/host/cluster/Resources/web");
// several objects may have the same.
type Object struct {
	Path string
	Ref  vc.Ref
}

// Make builds the inventory of one vCenter of spec. It stops with ctx's error between two objects. After an error there
// are files left in Target.Dir, and what was built so far.
func Make(ctx context.Context, t Target, v *topology.VCenter, spec *topology.Spec) (_ *Built, err error) {
	namespace, err := uuid.Parse(v.InstanceUUID)
	if err != nil {
		return nil, fmt.Errorf("instance UUID %q: %w", v.InstanceUUID, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &builder{
		ctx:       ctx,
		sim:       t.Context,
		target:    t,
		namespace: namespace,
		release:   newRelease(v.Version),
		reactions: v.Reactions,
		root:      t.Context.Map.Get(vimRoot(t.Context)).(*simulator.Folder),
		built:     &Built{Guests: make(map[vc.Ref]guest.Info)},
		tasks:     watchTasks(t.Context.Map),
		files:     startWriter(ctx),
		tags:      newTags(spec),
	}
	defer b.tasks.close()
	defer b.forgetTasks()
	defer func() {
		if err != nil {
			cancel() // what is not written yet need not be
		}
		if failed := b.files.close(); err == nil {
			err = failed
		}
	}()

	for i := range v.Policies {
		b.tags.mark(vc.Ref{}, v.Policies[i].Tags)
	}
	b.note("/", b.root.Self, topology.Place{}, v.Marks)
	for _, f := range v.Folders {
		if err := b.markFolder(b.root, "", f); err != nil {
			return nil, err
		}
	}
	for i := range v.Datacenters {
		if err := b.datacenter(&v.Datacenters[i]); err != nil {
			return nil, fmt.Errorf("datacenter %q: %w", v.Datacenters[i].Name, err)
		}
	}
	if err := b.files.close(); err != nil {
		return nil, err
	}
	for _, step := range []func() error{b.takeSnapshots, b.attachTags, func() error { return b.policies(v.Policies) }} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.built, nil
}

// vimRoot is the reference of the root folder.
func vimRoot(ctx *simulator.Context) vc.Ref {
	return ctx.Map.Get(types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}).(*simulator.ServiceInstance).Content.RootFolder
}

// builder is one vCenter under construction. One goroutine makes the objects, so that the same topology gives the same
// references; the files of VMs are written by others.
type builder struct {
	ctx       context.Context
	sim       *simulator.Context
	target    Target
	namespace uuid.UUID
	release   release
	reactions topology.Reactions
	root      *simulator.Folder
	built     *Built
	tasks     *tasks
	files     *writer
	tags      *tags
	snapshots []snapshots
}

func (b *builder) fresh() *simulator.Context { return vc.Fresh(b.sim) }

// note keeps what the topology has to say of an object besides the object itself.
func (b *builder) note(path string, ref vc.Ref, place topology.Place, marks topology.Marks) {
	b.built.Objects = append(b.built.Objects, Object{path, ref})
	b.tags.place(ref, place)
	b.tags.mark(ref, marks.Tags)
	if len(marks.Permissions) > 0 {
		b.built.Grants = append(b.built.Grants, Grant{ref, marks.Permissions})
	}
}

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

// forgetTasks removes the tasks that building left, which no client has ever seen.
func (b *builder) forgetTasks() {
	ctx := b.fresh()
	for _, obj := range b.sim.Map.AllReference("Task") {
		b.sim.Map.Remove(ctx, obj.Reference())
	}
	for _, e := range b.sim.Map.All("") {
		if e.Entity().RecentTask != nil {
			ctx.WithLock(e, func() { e.Entity().RecentTask = nil })
		}
	}
	if m, ok := b.sim.Map.Get(types.ManagedObjectReference{Type: "TaskManager", Value: "TaskManager"}).(*simulator.TaskManager); ok {
		m.RecentTask = nil
	}
}

// Adopt readies a VM that was put together elsewhere, and not by vcsim's CreateVM, for vcsim's operations. It is not in
// the registry yet, or the registry does not serve.
func Adopt(vm *simulator.VirtualMachine) error {
	id, err := uuid.Parse(vm.Config.Uuid)
	if err != nil {
		id = uuid.NewSHA1(uuid.NameSpaceOID, []byte(vm.Self.Value))
	}
	return fill(vm, id)
}
