package cns

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vmdk"
	vsanfs "github.com/vmware/govmomi/vsan/vsanfs/types"

	content "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// filePrefix begins the IDs of file volumes, by which clients distinguish them from disks.
const filePrefix = "file:"

// share is the share of a file volume, in vSAN's file service. No NFS server is behind it: hollow nodes use the directory of its content.
type share struct {
	id     string
	points []types.KeyValue // mount points, by protocol
	access []vsanfs.VsanFileShareNetPermission
}

// createFile creates a file volume on a vSAN datastore, the only kind with a file service. It is idempotent by name within a
// container cluster.
func (m *Manager) createFile(ctx *simulator.Context, spec *cnstypes.CnsVolumeCreateSpec, result *cnstypes.CnsVolumeCreateResult) types.BaseMethodFault {
	details, ok := spec.BackingObjectDetails.(*cnstypes.CnsVsanFileShareBackingDetails)
	if !ok {
		return &types.InvalidArgument{InvalidProperty: "createSpecs.backingObjectDetails"}
	}
	if spec.VolumeSource != nil {
		return new(types.NotSupported)
	}
	cluster := clusterOf(spec.Metadata)
	made, done := m.make(makingKey{name: spec.Name, cluster: cluster})
	if made != nil {
		return m.again(made, new(cnstypes.CnsBlockBackingDetails), result)
	}
	defer done()
	on, placements, fault := m.placeFile(ctx, spec, details.CapacityInMb)
	result.PlacementResults = placements
	if fault != nil {
		return fault
	}
	v := &volume{
		name: spec.Name, file: true, metadata: split(spec.Metadata), capacity: details.CapacityInMb, datastore: on.ref,
		policy: policyOf(spec.Profile), created: m.opts.Now(), keep: true,
	}
	m.mu.Lock()
	v.share.id = m.newID(spec.Name, cluster)
	v.id = filePrefix + v.share.id
	v.share.points = points(m.opts.VCenter, v.share.id)
	if create, ok := spec.CreateSpec.(*cnstypes.CnsVSANFileCreateSpec); ok {
		v.share.access = create.Permission
	}
	m.mu.Unlock()
	if err := m.fillShare(v); err != nil {
		return because(nil, "Failed to create file share: %v", err)
	}
	m.mu.Lock()
	m.put(v)
	m.mu.Unlock()
	result.VolumeId = cnstypes.CnsVolumeId{Id: v.id}
	m.log(v.about(vc.Ref{}), event.Info, "volume.created", "file share made on datastore %s: %s, id %s", on.name, size(v.capacity), v.id)
	return nil
}

// fillShare creates the directory of a share's content.
func (m *Manager) fillShare(v *volume) error {
	if err := m.fill(v, ""); err != nil || m.Dir(v.id) == "" {
		return err
	}
	d, err := content.Open(m.Dir(v.id))
	if err == nil {
		_, err = d.Format("nfs4")
	}
	return err
}

// placeFile is place among the allowed vSAN datastores.
func (m *Manager) placeFile(ctx *simulator.Context, spec *cnstypes.CnsVolumeCreateSpec, capacityMB int64) (*store, []cnstypes.CnsPlacementResult, types.BaseMethodFault) {
	allowed := spec.Datastores
	if len(allowed) == 0 {
		for _, obj := range ctx.Map.AllReference("Datastore") {
			allowed = append(allowed, obj.Reference())
		}
	}
	var vsan []vc.Ref
	var failed []cnstypes.CnsPlacementResult
	for _, ref := range allowed {
		s := m.store(ctx, ref)
		switch {
		case s == nil:
			return nil, nil, &types.ManagedObjectNotFound{Obj: ref}
		case s.kind == "vsan" && m.opts.FileService != nil && !m.opts.FileService(ref):
			failed = append(failed, cnstypes.CnsPlacementResult{
				Datastore: ref, PlacementFaults: []*types.LocalizedMethodFault{localized(new(types.NotSupported))},
			})
		case s.kind == "vsan":
			vsan = append(vsan, ref)
		default:
			failed = append(failed, cnstypes.CnsPlacementResult{
				Datastore: ref, PlacementFaults: []*types.LocalizedMethodFault{localized(new(types.NotSupported))},
			})
		}
	}
	if len(vsan) == 0 {
		return nil, failed, because(new(types.NotSupported), "no vSAN datastore to create the file share on: the file service of its cluster must be enabled")
	}
	on, placements, fault := m.place(ctx, wish{allowed: vsan, capacityMB: capacityMB, policy: policyOf(spec.Profile)})
	return on, append(placements, failed...), fault
}

// points returns the mount points of a share. The domain of the name never resolves.
func points(vcenter, id string) []types.KeyValue {
	server := content.ShareServer(vcenter)
	return []types.KeyValue{{Key: "NFSv3", Value: server + ":/" + id}, {Key: "NFSv4.1", Value: server + ":/vsanfs/" + id}}
}

// clusterOf returns the ID of the container cluster for which a volume is created.
func clusterOf(md cnstypes.CnsVolumeMetadata) string {
	if all := clusters(md); len(all) > 0 {
		return all[0].ClusterId
	}
	return ""
}

// folder is the folder of first-class disks on a datastore; object datastores name it by a UUID.
const folder = "fcd"

// diskPath returns the path of a disk's descriptor on a datastore.
func (m *Manager) diskPath(s *store, id string) string {
	in := folder
	if strings.EqualFold(s.kind, "vsan") || strings.EqualFold(s.kind, "vvol") {
		in = m.derive(folder, s.ref.Value)
	}
	return (&object.DatastorePath{Datastore: s.name, Path: in + "/" + id + ".vmdk"}).String()
}

// file returns the local path of a file of a datastore.
func (s *store) file(path string) (string, bool) {
	var p object.DatastorePath
	if !p.FromString(path) || p.Path == "" || !filepath.IsLocal(p.Path) {
		return "", false
	}
	return filepath.Join(s.dir, filepath.FromSlash(p.Path)), true
}

// writeFiles creates the files that vcsim expects for a disk: the descriptor and an empty extent.
func (s *store) writeFiles(path string, capacityMB int64) error {
	file, ok := s.file(path)
	if !ok {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	flat := flatName(file)
	extent := vmdk.Extent{Info: filepath.Base(flat), Size: capacityMB << 20 / vmdk.SectorSize}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(vmdk.NewDescriptor(extent).Write(f), f.Close()); err != nil {
		return err
	}
	return os.WriteFile(flat, nil, 0o600)
}

// removeFiles removes both, ignoring missing ones.
func (s *store) removeFiles(path string) error {
	file, ok := s.file(path)
	if !ok {
		return nil
	}
	var all []error
	for _, f := range []string{file, flatName(file)} {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func flatName(file string) string { return strings.TrimSuffix(file, ".vmdk") + "-flat.vmdk" }

// controlFlags are the control flags of a volume.
type controlFlags struct {
	pinned  bool // disableRelocation
	tracked bool // enableChangedBlockTracking
}

// tracking reports changed block tracking as queries show it; it is unknown for file shares.
func (v *volume) tracking() cnstypes.CnsVolumeCBTStatus {
	switch {
	case v.file:
		return ""
	case v.flags.tracked:
		return cnstypes.CnsVolumeCBTStatusEnabled
	}
	return cnstypes.CnsVolumeCBTStatusDisabled
}

// CnsSetVolumeControlFlags sets flags of volumes, without a task. Faults: NotFound, InvalidArgument.
func (m *Manager) CnsSetVolumeControlFlags(_ *simulator.Context, req *cnstypes.CnsSetVolumeControlFlags) soap.HasFault {
	body := new(methods.CnsSetVolumeControlFlagsBody)
	if fault := m.control(req.ControlFlagsSpecs, true); fault != nil {
		body.Fault_ = simulator.Fault(reasonOf(fault), fault)
		return body
	}
	body.Res = new(cnstypes.CnsSetVolumeControlFlagsResponse)
	return body
}

// CnsClearVolumeControlFlags is the inverse of CnsSetVolumeControlFlags.
func (m *Manager) CnsClearVolumeControlFlags(_ *simulator.Context, req *cnstypes.CnsClearVolumeControlFlags) soap.HasFault {
	body := new(methods.CnsClearVolumeControlFlagsBody)
	if fault := m.control(req.ControlFlagsSpecs, false); fault != nil {
		body.Fault_ = simulator.Fault(reasonOf(fault), fault)
		return body
	}
	body.Res = new(cnstypes.CnsClearVolumeControlFlagsResponse)
	return body
}

// control sets or clears flags of all volumes, or of none if a volume is missing or a flag unknown.
func (m *Manager) control(specs []cnstypes.CnsVolumeControlFlagsSpec, on bool) types.BaseMethodFault {
	ctx := m.fresh()
	known := []string{
		string(cnstypes.CnsVolumeControlFlagsKeepAfterDeleteVm), string(cnstypes.CnsVolumeControlFlagsDisableRelocation),
		string(cnstypes.CnsVolumeControlFlagsEnableChangedBlockTracking),
	}
	for _, spec := range specs {
		if _, there := m.Volume(spec.VolumeId.Id); !there {
			return new(types.NotFound)
		}
		for _, flag := range spec.ControlFlags {
			if !slices.Contains(known, flag) {
				return &types.InvalidArgument{InvalidProperty: "controlFlags"}
			}
		}
	}
	for _, spec := range specs {
		v := m.take(spec.VolumeId.Id)
		if v == nil {
			return new(types.NotFound)
		}
		keep, flags := v.keep, v.flags
		for _, flag := range spec.ControlFlags {
			switch cnstypes.CnsVolumeControlFlags(flag) {
			case cnstypes.CnsVolumeControlFlagsKeepAfterDeleteVm:
				keep = on
			case cnstypes.CnsVolumeControlFlagsDisableRelocation:
				flags.pinned = on
			case cnstypes.CnsVolumeControlFlagsEnableChangedBlockTracking:
				flags.tracked = on
			}
		}
		m.editDisk(ctx, v.id, func(d *disk) {
			d.Config.KeepAfterDeleteVm = new(keep)
			d.Config.RelocationDisabled = new(flags.pinned)
			d.Config.ChangedBlockTrackingEnabled = new(flags.tracked)
		})
		m.release(v, func() { v.keep, v.flags = keep, flags })
	}
	return nil
}

// CnsConfigureVolumeACLs changes who may mount file volumes. Rules with the same addresses are replaced.
func (m *Manager) CnsConfigureVolumeACLs(_ *simulator.Context, req *cnstypes.CnsConfigureVolumeACLs) soap.HasFault {
	const method = "CnsConfigureVolumeACLs"
	return &methods.CnsConfigureVolumeACLsBody{Res: &cnstypes.CnsConfigureVolumeACLsResponse{
		Returnval: m.task(method, func(*simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.ACLConfigSpecs,
				func(s *cnstypes.CnsVolumeACLConfigureSpec) string { return s.VolumeId.Id }, m.configureACL)
		}),
	}}
}

func (m *Manager) configureACL(spec *cnstypes.CnsVolumeACLConfigureSpec) types.BaseMethodFault {
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return new(types.NotFound)
	}
	if !v.file {
		m.release(v, nil)
		return new(types.NotSupported)
	}
	access := slices.Clone(v.share.access)
	for _, change := range spec.AccessControlSpecList {
		for _, p := range change.Permission {
			access = slices.DeleteFunc(access, func(is vsanfs.VsanFileShareNetPermission) bool { return is.Ips == p.Ips })
			if !change.Delete {
				access = append(access, p)
			}
		}
	}
	m.release(v, func() { v.share.access = access })
	return nil
}

// Access returns the addresses ("*", "10.0.0.0/8") that may mount a file volume, with their rights. It returns false if there is
// no such volume.
func (m *Manager) Access(id string) ([]vsanfs.VsanFileShareNetPermission, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.volumes[id]
	if v == nil || !v.file {
		return nil, false
	}
	return slices.Clone(v.share.access), true
}
