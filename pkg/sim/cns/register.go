package cns

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vmdk"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// register creates a volume from an existing first-class disk.
func (m *Manager) register(ctx *simulator.Context, spec *cnstypes.CnsVolumeCreateSpec, id string, result *cnstypes.CnsVolumeCreateResult) types.BaseMethodFault {
	d, ok := m.findDisk(ctx, id)
	if !ok {
		return new(types.NotFound)
	}
	v, ok := m.diskAsVolume(&d)
	if !ok {
		return new(types.NotSupported)
	}
	v.name, v.metadata, v.policy, v.created = spec.Name, split(spec.Metadata), policyOf(spec.Profile), m.opts.Now()
	v.adopt(&d)
	m.mark(ctx, v)
	if err := m.fill(v, ""); err != nil && !errors.Is(err, fs.ErrExist) { // it may have been a volume before
		return because(nil, "Failed to register disk: %v", err)
	}
	m.mu.Lock()
	m.used[id] = true
	m.put(v)
	m.sight(v)
	m.mu.Unlock()
	m.consumers(ctx, v)
	result.VolumeId = cnstypes.CnsVolumeId{Id: id}
	result.PlacementResults = []cnstypes.CnsPlacementResult{{Datastore: v.datastore}}
	m.log(v.about(vc.Ref{}), event.Info, "volume.registered", "%s is a volume from now on: %s, id %s", v.path, size(v.capacity), id)
	return nil
}

// diskAt returns the ID of the first-class disk with the file at a URL, as migration from the in-tree driver names it
// ("https://vc/folder/kubevols/a.vmdk?dcPath=dc&dsName=shared"). It makes a plain file a first-class disk.
func (m *Manager) diskAt(ctx *simulator.Context, address string) (id string, _ types.BaseMethodFault) {
	ds, file, ok := m.fileAt(ctx, address)
	if !ok {
		return "", &types.InvalidArgument{InvalidProperty: "createSpecs.backingObjectDetails.backingDiskUrlPath"}
	}
	if _, done := m.make(makingKey{id: file}); done != nil { // no volume has such an ID: this makes calls sequential
		defer done()
	}
	if id = m.diskWith(ctx, ds.ref, file); id != "" {
		return id, nil
	}
	capacity, err := ds.measure(file)
	if err != nil {
		cause := &types.FileNotFound{FileFault: types.FileFault{File: file}}
		return "", because(cause, "Failed to register disk: %s is no virtual disk", file)
	}
	m.mu.Lock()
	id = m.newID(file, "")
	m.mu.Unlock()
	m.putDisk(ctx, m.newDisk(&volume{
		id: id, name: strings.TrimSuffix(path.Base(file), ".vmdk"), capacity: capacity >> 20, datastore: ds.ref, path: file,
		created: m.opts.Now(), keep: true, // as since vSphere 8.0 U3
	}))
	return id, nil
}

// fileAt returns the datastore and path of a URL.
func (m *Manager) fileAt(ctx *simulator.Context, address string) (_ *store, file string, ok bool) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", false
	}
	in, isFile := strings.CutPrefix(u.Path, "/folder/")
	name := u.Query().Get("dsName")
	if !isFile || name == "" {
		return nil, "", false
	}
	for _, obj := range ctx.Map.AllReference("Datastore") {
		dc, _ := vc.Datacenter(ctx.Map, obj.Reference())
		if s := m.store(ctx, obj.Reference()); s != nil && s.name == name && pathOf(ctx, dc) == strings.Trim(u.Query().Get("dcPath"), "/") {
			return s, (&object.DatastorePath{Datastore: name, Path: in}).String(), true
		}
	}
	return nil, "", false
}

// pathOf returns the path of an entity below the root folder ("dcs/dc").
func pathOf(ctx *simulator.Context, ref vc.Ref) string {
	var names []string
	for {
		e, ok := ctx.Map.Get(ref).(mo.Entity)
		if !ok {
			return path.Join(names...)
		}
		var name string
		var parent *vc.Ref
		ctx.WithLock(e, func() { name, parent = e.Entity().Name, e.Entity().Parent })
		if parent == nil {
			return path.Join(names...) // paths do not contain the root folder's name
		}
		names, ref = append([]string{name}, names...), *parent
	}
}

// measure returns the capacity of a virtual disk in bytes, from its descriptor.
func (s *store) measure(file string) (int64, error) {
	name, ok := s.file(file)
	if !ok {
		return 0, os.ErrInvalid
	}
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	d, err := vmdk.ParseDescriptor(f)
	if err != nil {
		return 0, err
	}
	return d.Capacity(), nil
}

// mark makes the device with a disk's file, if a VM has one, the device of the first-class disk, and adopts its UUID: an attached
// disk stays the same when it becomes a volume.
func (m *Manager) mark(ctx *simulator.Context, v *volume) {
	m.mu.Lock()
	at, known := m.sighted(v.id, v.path)
	m.mu.Unlock()
	vms := []vc.Ref{at.vm}
	if !known {
		vms = vms[:0]
		for _, obj := range ctx.Map.AllReference("VirtualMachine") {
			vms = append(vms, obj.Reference())
		}
	}
	for _, ref := range vms {
		_ = m.withVM(ctx, ref, func(vm *simulator.VirtualMachine) types.BaseMethodFault {
			if vm.Config == nil {
				return nil
			}
			for _, o := range vm.Config.Hardware.Device {
				d, ok := o.(*types.VirtualDisk)
				if !ok || fileOf(d) != v.path || d.VDiskId != nil && d.VDiskId.Id != v.id {
					continue
				}
				if b, ok := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok && uuid.Validate(b.Uuid) == nil {
					v.disk = b.Uuid
				}
				if d.VDiskId == nil {
					m.setDevices(ctx, vm, replug(vm.Config.Hardware.Device, d, func(c *types.VirtualDisk) { c.VDiskId = &types.ID{Id: v.id} }))
				}
				return nil
			}
			return nil
		})
	}
}

// CnsUnregisterVolume removes volumes from CNS. Their disks stay, as first-class disks or as plain files of the datastore. It
// refuses attached volumes, and those that would lose their snapshots.
func (m *Manager) CnsUnregisterVolume(_ *simulator.Context, req *cnstypes.CnsUnregisterVolume) soap.HasFault {
	const method = "CnsUnregisterVolume"
	return &methods.CnsUnregisterVolumeBody{Res: &cnstypes.CnsUnregisterVolumeResponse{
		Returnval: m.task(method, func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.UnregisterSpec,
				func(s *cnstypes.CnsUnregisterVolumeSpec) string { return s.VolumeId.Id },
				func(s *cnstypes.CnsUnregisterVolumeSpec) types.BaseMethodFault { return m.unregister(ctx, s) })
		}),
	}}
}

func (m *Manager) unregister(ctx *simulator.Context, spec *cnstypes.CnsUnregisterVolumeSpec) types.BaseMethodFault {
	plain := false
	switch cnstypes.CnsUnregisterTargetVolumeType(spec.TargetVolumeType) {
	case "", cnstypes.CnsUnregisterTargetVolumeTypeFCD:
	case cnstypes.CnsUnregisterTargetVolumeTypeLEGACY_DISK:
		plain = true
	default:
		return &types.InvalidArgument{InvalidProperty: "targetVolumeType"}
	}
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return &cnstypes.CnsNotRegisteredFault{VolumeId: spec.VolumeId}
	}
	var fault types.BaseMethodFault
	switch {
	case v.file:
		fault = new(types.NotSupported)
	case m.attachedTo(v) != nil:
		fault = inUse()
	case plain && len(v.snapshot) > 0:
		fault = because(nil, "volume %s has snapshots", v.id)
	}
	if fault != nil {
		m.release(v, nil)
		return fault
	}
	if plain {
		m.dropDisk(ctx, v.datastore, v.id)
	}
	about := v.about(vc.Ref{})
	m.release(v, func() { m.drop(v) })
	m.log(about, event.Info, "volume.unregistered", "CNS knows it no longer; its disk is %s", v.path)
	return nil
}
