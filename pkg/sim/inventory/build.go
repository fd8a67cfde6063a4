package inventory

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

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
