package cns

import (
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	content "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// inTreeFolder is where the in-tree provider kept the disks that it made.
const inTreeFolder = "kubevols/"

// DirOfFile is [Manager.Dir] of the disk whose descriptor is at a path ("[ds] kubevols/a.vmdk"); empty when there is none. A
// disk in the folder of the in-tree provider has a content before it is a volume, which is the volume's when it becomes one.
// Of other disks that are no volumes nothing is kept.
func (m *Manager) DirOfFile(file string) string {
	_, in, ok := strings.Cut(file, "] ")
	if m.opts.Dir == "" || !ok || !strings.HasPrefix(in, inTreeFolder) {
		return ""
	}
	ctx := m.fresh()
	for ref, s := range m.stores(ctx) {
		if !strings.HasPrefix(file, "["+s.name+"] ") {
			continue
		}
		capacity, err := s.measure(file)
		if err != nil {
			continue // another datacenter's datastore of that name may have it
		}
		if _, done := m.make(makingKey{id: file}); done != nil { // not while it becomes a volume: see diskAt
			defer done()
		}
		if id := m.diskWith(ctx, ref, file); id != "" {
			return m.Dir(id) // register makes it
		}
		dir := m.Dir(m.nextID(file))
		if _, err := content.Size(dir); err == nil || content.Create(dir, capacity) == nil {
			return dir
		}
		return ""
	}
	return ""
}

// diskWith is the id of the first class disk that has a file; empty when none has.
func (m *Manager) diskWith(ctx *simulator.Context, on vc.Ref, file string) (id string) {
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) {
		for _, d := range all[on] {
			if b, ok := d.Config.Backing.(*types.BaseConfigInfoDiskFileBackingInfo); ok && b.FilePath == file {
				id = d.Config.Id.Id
			}
		}
	})
	return id
}

// nextID is what newID would return for a disk with that file.
func (m *Manager) nextID(file string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := 0; ; n++ {
		if id := m.derive("volume", file, "", strconv.Itoa(n)); !m.used[id] && m.volumes[id] == nil {
			return id
		}
	}
}
