package inventory

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

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
