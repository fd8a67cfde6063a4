package inventory

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Target is an empty vCenter that does not serve yet.
type Target struct {
	// Context is the context of the vCenter; every operation uses a copy.
	Context *simulator.Context
	// Dir is the directory of its datastores.
	Dir string
	// Tagger creates tags. Nil: Tags does.
	Tagger Tagger
	// Tags is the vCenter's vAPI endpoint, Login an account there.
	Tags  http.Handler
	Login *url.Userinfo
	// Policies creates storage policies. It may be nil without policies in the topology.
	Policies Profiles
}

// Built is the result of [Make].
type Built struct {
	// Guests are the reports of VMs' guests when they are up, for guest.Start. VMs without tools are not included.
	Guests map[vc.Ref]guest.Info
	// Origins are the UUIDs of the VMs that clones come from, for guest.Start. Only a snapshot has clones.
	Origins map[vc.Ref]string
	// Grants are the permissions of the topology, in order; they are not in force yet.
	Grants []Grant
	// Objects are the objects of the topology, in the order of creation, including those that are only referred to.
	Objects []Object
}

// Grant is the list of permissions on one object.
type Grant struct {
	On          vc.Ref
	Permissions []topology.Permission
}

// Object is an object of the inventory. Path is as in govc and the finder ("/dc/host/cluster/Resources/web"); several objects may
// share one.
type Object struct {
	Path string
	Ref  vc.Ref
}

// Make builds the inventory of one vCenter of spec. It stops with ctx's error between two objects. After an error it leaves files
// in Target.Dir, and the objects so far.
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
			cancel() // remaining files are not needed
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

// vimRoot returns the reference of the root folder.
func vimRoot(ctx *simulator.Context) vc.Ref {
	return ctx.Map.Get(types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}).(*simulator.ServiceInstance).Content.RootFolder
}

// builder builds one vCenter. One goroutine creates the objects, so that a topology always has the same references; others write
// the files of VMs.
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

// note records tags and permissions of an object.
func (b *builder) note(path string, ref vc.Ref, place topology.Place, marks topology.Marks) {
	b.built.Objects = append(b.built.Objects, Object{path, ref})
	b.tags.place(ref, place)
	b.tags.mark(ref, marks.Tags)
	if len(marks.Permissions) > 0 {
		b.built.Grants = append(b.built.Grants, Grant{ref, marks.Permissions})
	}
}

// derive returns a UUID for an object of this vCenter from its path: the same in each run, different in each vCenter.
func (b *builder) derive(path ...string) string {
	return uuid.NewSHA1(b.namespace, []byte(strings.Join(path, "\x00"))).String()
}

// file returns a directory for an inventory object, whose name may contain any character but NUL.
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

// forgetTasks removes the tasks of the build.
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

// Adopt prepares a VM that vcsim's CreateVM did not create for vcsim's operations. The VM is not in the registry yet, or the
// registry does not serve.
func Adopt(vm *simulator.VirtualMachine) error {
	id, err := uuid.Parse(vm.Config.Uuid)
	if err != nil {
		id = uuid.NewSHA1(uuid.NameSpaceOID, []byte(vm.Self.Value))
	}
	return fill(vm, id)
}

// tasks notifies about the end of tasks; vcsim polls every 10 ms.
type tasks struct {
	registry *simulator.Registry

	mu   sync.Mutex
	ends map[vc.Ref]chan struct{}
}

func watchTasks(r *simulator.Registry) *tasks {
	t := &tasks{registry: r, ends: make(map[vc.Ref]chan struct{})}
	r.AddHandler(t)
	return t
}

func (t *tasks) close() { t.registry.RemoveHandler(t) }

// wait waits for the end of a task and returns its result.
func (t *tasks) wait(ctx *simulator.Context, task vc.Ref) (any, error) {
	t.mu.Lock()
	end := t.ends[task]
	t.mu.Unlock()
	if end != nil {
		<-end
	}
	t.mu.Lock()
	delete(t.ends, task)
	t.mu.Unlock()
	return vc.Wait(ctx, task) // at once if it has ended; or it started before this was watching
}

// Reference implements simulator.RegisterObject.
func (t *tasks) Reference() vc.Ref { return vc.Ref{Type: "SandboxTasks", Value: "sandbox-tasks"} }

// PutObject implements simulator.RegisterObject: a task is put before it starts.
func (t *tasks) PutObject(_ *simulator.Context, obj mo.Reference) {
	task, ok := obj.(*simulator.Task)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends[task.Self] = make(chan struct{})
}

// UpdateObject implements simulator.RegisterObject: the task's lock is held.
func (t *tasks) UpdateObject(_ *simulator.Context, obj mo.Reference, _ []types.PropertyChange) {
	task, ok := obj.(*mo.Task)
	if !ok || (task.Info.State != types.TaskInfoStateSuccess && task.Info.State != types.TaskInfoStateError) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if end := t.ends[task.Self]; end != nil {
		close(end)
		delete(t.ends, task.Self)
	}
}

// RemoveObject implements simulator.RegisterObject.
func (*tasks) RemoveObject(*simulator.Context, vc.Ref) {}

// duplicate makes a deep copy. It copies unexported fields shallowly; the only ones in the vSphere API are those of time.Time.
func duplicate[T any](v T) T {
	var c T
	copyInto(reflect.ValueOf(&c).Elem(), reflect.ValueOf(&v).Elem())
	return c
}

func copyInto(dst, src reflect.Value) {
	dst.Set(src)
	switch src.Kind() {
	case reflect.Pointer:
		if !src.IsNil() {
			dst.Set(reflect.New(src.Type().Elem()))
			copyInto(dst.Elem(), src.Elem())
		}
	case reflect.Interface:
		if !src.IsNil() {
			c := reflect.New(src.Elem().Type()).Elem()
			copyInto(c, src.Elem())
			dst.Set(c)
		}
	case reflect.Slice:
		if !src.IsNil() {
			dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
			for i := range src.Len() {
				copyInto(dst.Index(i), src.Index(i))
			}
		}
	case reflect.Struct:
		for i := range src.NumField() {
			if src.Type().Field(i).IsExported() {
				copyInto(dst.Field(i), src.Field(i))
			}
		}
	}
}
