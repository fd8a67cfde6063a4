package inventory

import (
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/guestinfo"
)

// folder is a VM folder.
type folder struct {
	obj  *simulator.Folder
	path string
}

// site is the place of a VM.
type site struct {
	folder    *folder
	host      *host
	pool      *pool
	datastore *datastore
}

// vms creates the datacenter's VMs without vcsim's CreateVM: see [fill].
func (b *builder) vms(dc *datacenter) error {
	render, err := descriptorFor(systemKiB << 10)
	if err != nil {
		return err
	}
	for i := range dc.VMs {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if err := b.vm(dc, &dc.VMs[i], render); err != nil {
			return fmt.Errorf("VM %q: %w", dc.VMs[i].Name, err)
		}
	}
	b.list(dc)
	return nil
}

func (b *builder) vm(dc *datacenter, spec *topology.VM, render func(string) []byte) error {
	at, err := b.site(dc, spec)
	if err != nil {
		return err
	}
	info, err := guestInfo(spec)
	if err != nil {
		return err
	}
	extra, err := settings(dc.Datacenter, spec)
	if err != nil {
		return err
	}
	h := dc.home(spec, at.datastore.Type == topology.VSAN, func(dir string) string {
		return b.derive("directory", dc.Name, spec.Datastore, dir)
	})
	files := vmFiles{dir: filepath.Join(at.datastore.dir, h.dir), name: h.name, descriptor: render(h.name + "-flat.vmdk")}
	if err := b.files.add(files); err != nil {
		return err
	}
	nics, networks, err := nics(dc, at.host, spec, spec.Power != topology.PowerOff && spec.Template != topology.Yes)
	if err != nil {
		return err
	}
	home := object.DatastorePath{Datastore: spec.Datastore, Path: h.dir}
	disk := systemDisk(home.String()+"/"+h.name+".vmdk", b.derive("disk", dc.Name, spec.Datastore, h.dir), at.datastore.obj.Self)
	now := time.Now()

	vm := new(simulator.VirtualMachine)
	vm.DataSets = make(map[string]*simulator.DataSet)
	b.sim.Map.NewEntity(vm)
	configure(&vm.VirtualMachine, spec, b.release, now)
	vm.Config.ExtraConfig = extra
	files.locate(&vm.VirtualMachine, home)
	vm.Config.Hardware.Device = devices(disk, nics)
	vm.Network = networks
	vm.Summary.Config.NumEthernetCards = int32(len(nics))
	vm.Summary.Config.NumVirtualDisks = 1
	settle(&vm.VirtualMachine, at)
	lay(&vm.VirtualMachine, at.datastore.obj.Self, home, files, now)
	run(&vm.VirtualMachine, spec, now)
	id, err := uuid.Parse(spec.UUID)
	if err != nil {
		return fmt.Errorf("UUID %q: %w", spec.UUID, err)
	}
	if err := fill(vm, id); err != nil {
		return err
	}

	b.adopt(at.folder.obj, vm)
	at.host.vms = append(at.host.vms, vm.Self)
	at.datastore.vms = append(at.datastore.vms, vm.Self)
	if spec.Template != topology.Yes {
		at.pool.vms = append(at.pool.vms, vm.Self)
	}
	if spec.Tools != topology.No {
		b.built.Guests[vm.Self] = info
	}
	if members := at.host.compute.members; members != nil {
		members[strings.TrimPrefix(spec.Folder+"/"+spec.Name, "/")] = vm.Self
	}
	b.note(at.folder.path+"/"+escape(spec.Name), vm.Self, topology.Place{}, spec.Marks)
	if len(spec.Snapshots) > 0 {
		b.snapshots = append(b.snapshots, snapshots{vm, spec.Snapshots})
	}
	return nil
}

// site resolves the names in the VM's specification.
func (b *builder) site(dc *datacenter, spec *topology.VM) (at site, err error) {
	var ok bool
	if at.host, ok = dc.byName[spec.Host]; !ok {
		return at, fmt.Errorf("host %q not found in the datacenter", spec.Host)
	}
	if at.pool, ok = at.host.compute.byPath[spec.Pool]; !ok {
		return at, fmt.Errorf("pool %q: no such resource pool or vApp for host %q", spec.Pool, spec.Host)
	}
	if at.datastore = dc.datastores[spec.Datastore]; at.datastore == nil || !at.datastore.hosts[at.host] {
		return at, fmt.Errorf("datastore %q: not mounted on host %q", spec.Datastore, spec.Host)
	}
	if at.folder = dc.folders[spec.Folder]; at.folder != nil {
		return at, nil
	}
	root := b.sim.Map.Get(dc.obj.VmFolder).(*simulator.Folder)
	f, err := b.folder(root, dc.path+"/vm", spec.Folder)
	if err != nil {
		return at, fmt.Errorf("folder %q: %w", spec.Folder, err)
	}
	at.folder = &folder{f, dc.path + "/vm"}
	for name := range strings.SplitSeq(spec.Folder, "/") {
		if name != "" {
			at.folder.path += "/" + escape(name)
		}
	}
	dc.folders[spec.Folder] = at.folder
	return at, nil
}

// list sets the lists of VMs of hosts, pools and datastores.
func (b *builder) list(dc *datacenter) {
	for _, h := range dc.hosts {
		b.fresh().WithLock(h.obj, func() { h.obj.Vm = h.vms })
	}
	for _, c := range dc.computes {
		for _, p := range c.byPath {
			b.fresh().WithLock(p.ref, func() { p.obj.Vm = p.vms })
		}
	}
	for _, ds := range dc.datastores {
		if ds.obj != nil {
			b.fresh().WithLock(ds.obj, func() { ds.obj.Vm = ds.vms })
		}
	}
}

// home is a VM's directory on its datastore, and the base name of its files.
type home struct{ datastore, dir, name string }

// home chooses the VM's directory: "web", and "web_1" for a second VM of that name. On vSAN, where directories are objects, it is
// a UUID derived from that.
func (dc *datacenter) home(spec *topology.VM, vsan bool, id func(string) string) home {
	name := fileName(spec.Name)
	dir := name
	for i := 1; dc.taken[home{datastore: spec.Datastore, dir: dir}]; i++ {
		dir = fmt.Sprintf("%s_%d", name, i)
	}
	dc.taken[home{datastore: spec.Datastore, dir: dir}] = true
	if vsan {
		return home{spec.Datastore, id(dir), name}
	}
	return home{spec.Datastore, dir, name}
}

// lay sets the VM's file layout, as RefreshStorageInfo finds it in the directory.
func lay(vm *mo.VirtualMachine, ds vc.Ref, at object.DatastorePath, files vmFiles, now time.Time) {
	idle, own := files.names()
	names := slices.Sorted(slices.Values(append(idle, own...)))
	vm.Layout = &types.VirtualMachineFileLayout{}
	vm.LayoutEx = &types.VirtualMachineFileLayoutEx{Timestamp: now}
	var extent, descriptor int32
	var committed, unshared int64
	for i, name := range names {
		key := int32(i)
		file := path.Join(at.Path, name)
		info := types.VirtualMachineFileLayoutExFileInfo{
			Key: key, Name: (&object.DatastorePath{Datastore: at.Datastore, Path: file}).String(), Accessible: new(true),
		}
		kind := types.VirtualMachineFileLayoutExFileTypeConfig
		switch {
		case strings.HasSuffix(name, "-flat.vmdk"):
			kind, extent = types.VirtualMachineFileLayoutExFileTypeDiskExtent, key
		case strings.HasSuffix(name, ".vmdk"):
			kind, descriptor = types.VirtualMachineFileLayoutExFileTypeDiskDescriptor, key
			info.Size = int64(len(files.descriptor))
			unshared += info.Size
		case strings.HasSuffix(name, ".nvram"):
			kind = types.VirtualMachineFileLayoutExFileTypeNvram
			vm.Layout.ConfigFile = append(vm.Layout.ConfigFile, file)
		case strings.HasSuffix(name, ".log"):
			kind = types.VirtualMachineFileLayoutExFileTypeLog
			vm.Layout.LogFile = append(vm.Layout.LogFile, file)
		}
		info.Type = string(kind)
		info.UniqueSize = info.Size
		committed += info.Size
		vm.LayoutEx.File = append(vm.LayoutEx.File, info)
	}
	vm.Layout.Disk = []types.VirtualMachineFileLayoutDiskLayout{{Key: diskKey, DiskFile: []string{vm.LayoutEx.File[descriptor].Name}}}
	vm.LayoutEx.Disk = []types.VirtualMachineFileLayoutExDiskLayout{{
		Key:   diskKey,
		Chain: []types.VirtualMachineFileLayoutExDiskUnit{{FileKey: []int32{extent, descriptor}}},
	}}
	usage := types.VirtualMachineUsageOnDatastore{
		Datastore: ds, Committed: committed, Unshared: unshared, Uncommitted: systemKiB<<10 - committed,
	}
	vm.Storage = &types.VirtualMachineStorageInfo{PerDatastoreUsage: []types.VirtualMachineUsageOnDatastore{usage}, Timestamp: now}
	vm.Summary.Storage = &types.VirtualMachineStorageSummary{
		Committed: usage.Committed, Unshared: usage.Unshared, Uncommitted: usage.Uncommitted, Timestamp: now,
	}
}

// configure sets the VM's configuration without its settings, devices and files.
func configure(vm *mo.VirtualMachine, spec *topology.VM, r release, now time.Time) {
	hardware := spec.HardwareVersion
	if hardware == "" {
		hardware = r.hardwareVersion()
	}
	name := escape(spec.Name)
	full := fullName(spec.GuestID)
	resources := types.DefaultResourceConfigSpec()
	vm.Name = name
	vm.Config = &types.VirtualMachineConfigInfo{
		ChangeVersion:      strconv.FormatInt(now.UnixNano(), 10),
		Modified:           now,
		CreateDate:         &now,
		Name:               name,
		GuestFullName:      full,
		GuestId:            spec.GuestID,
		Version:            hardware,
		Uuid:               spec.UUID,
		InstanceUuid:       spec.InstanceUUID,
		Template:           spec.Template == topology.Yes,
		Firmware:           string(types.GuestOsDescriptorFirmwareTypeBios),
		Tools:              &types.ToolsConfigInfo{},
		MemoryAllocation:   &resources.MemoryAllocation,
		CpuAllocation:      &resources.CpuAllocation,
		LatencySensitivity: &types.LatencySensitivity{Level: types.LatencySensitivitySensitivityLevelNormal},
		BootOptions:        &types.VirtualMachineBootOptions{},
		Hardware: types.VirtualHardware{
			NumCPU:            spec.CPUs,
			NumCoresPerSocket: types.NewInt32(1),
			MemoryMB:          spec.Memory.MiB(),
		},
	}
	vm.Summary.Vm = &vm.Self
	vm.Summary.Config = types.VirtualMachineConfigSummary{
		Name:          name,
		Template:      vm.Config.Template,
		MemorySizeMB:  vm.Config.Hardware.MemoryMB,
		NumCpu:        spec.CPUs,
		Uuid:          spec.UUID,
		InstanceUuid:  spec.InstanceUUID,
		GuestId:       spec.GuestID,
		GuestFullName: full,
		HwVersion:     hardware,
	}
	vm.Summary.OverallStatus = types.ManagedEntityStatusGreen
	vm.Capability.ChangeTrackingSupported = true
}

// locate sets the place of the VM's files.
func (f vmFiles) locate(vm *mo.VirtualMachine, home object.DatastorePath) {
	dir := home.String()
	vm.Config.Files = types.VirtualMachineFileInfo{
		VmPathName:        dir + "/" + f.name + ".vmx",
		SnapshotDirectory: dir,
		SuspendDirectory:  dir,
		LogDirectory:      dir,
	}
	vm.Summary.Config.VmPathName = vm.Config.Files.VmPathName
}

// settle sets the place of the VM. A template has no pool.
func settle(vm *mo.VirtualMachine, at site) {
	vm.Runtime.Host = new(at.host.obj.Self)
	vm.Datastore = []types.ManagedObjectReference{at.datastore.obj.Self}
	if e := at.host.compute.obj.EnvironmentBrowser; e != nil {
		vm.EnvironmentBrowser = *e
	}
	if vm.Config.Template {
		return
	}
	vm.ResourcePool = new(at.pool.ref)
	if at.pool.vapp {
		vm.ParentVApp = new(at.pool.ref)
	}
}

// run sets the VM's state: off, or on with a guest that will report later.
func run(vm *mo.VirtualMachine, spec *topology.VM, now time.Time) {
	vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
	vm.Runtime.MaxCpuUsage = spec.CPUs * cpuMhz
	vm.Runtime.MaxMemoryUsage = vm.Config.Hardware.MemoryMB
	if spec.Power != topology.PowerOff && !vm.Config.Template {
		vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
		vm.Runtime.BootTime = &now
	}
	vm.Summary.Runtime = vm.Runtime
	vm.Summary.QuickStats.GuestHeartbeatStatus = types.ManagedEntityStatusGray
	vm.GuestHeartbeatStatus = types.ManagedEntityStatusGray
	vm.Guest = &types.GuestInfo{
		ToolsStatus:        types.VirtualMachineToolsStatusToolsNotInstalled,
		ToolsVersion:       "0",
		ToolsRunningStatus: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning),
		GuestId:            spec.GuestID,
		GuestFamily:        family(spec.GuestID),
		GuestState:         string(types.VirtualMachineGuestStateNotRunning),
	}
	vm.Summary.Guest = &types.VirtualMachineGuestSummary{
		GuestId:            spec.GuestID,
		ToolsStatus:        vm.Guest.ToolsStatus,
		ToolsRunningStatus: vm.Guest.ToolsRunningStatus,
	}
}

// family returns the family of an operating system.
func family(guestID string) string {
	if strings.HasPrefix(guestID, "win") {
		return string(types.VirtualMachineGuestOsFamilyWindowsGuest)
	}
	return string(types.VirtualMachineGuestOsFamilyLinuxGuest)
}

// settings returns the VM's advanced configuration.
func settings(dc *topology.Datacenter, vm *topology.VM) ([]types.BaseOptionValue, error) {
	// govcsim identifies a simulator to programs, as in vcsim.
	all := []types.BaseOptionValue{&types.OptionValue{Key: "govcsim", Value: "TRUE"}}
	own, err := guestinfo.ExtraConfig(dc, vm)
	for _, kv := range own {
		all = append(all, &types.OptionValue{Key: kv.Key, Value: kv.Value})
	}
	return all, err
}

// guestInfo returns what the guest of the VM reports when it is up.
func guestInfo(spec *topology.VM) (guest.Info, error) {
	info := guest.Info{
		HostName:  spec.Hostname,
		FullName:  fullName(spec.GuestID),
		Addresses: make(map[string][]netip.Prefix),
	}
	for _, n := range spec.NICs {
		for _, text := range n.Addresses {
			p, err := prefix(text)
			if err != nil {
				return info, fmt.Errorf("address %q: %w", text, err)
			}
			mac := strings.ToLower(n.MAC)
			info.Addresses[mac] = append(info.Addresses[mac], p)
		}
	}
	return info, nil
}

// prefix parses an address with or without prefix length.
func prefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	bits := 64
	if a.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(a, bits), nil
}

// fullName returns vCenter's name of an operating system for guest IDs of Kubernetes nodes, and any other ID unchanged.
func fullName(id string) string {
	switch id {
	case "ubuntu64Guest":
		return "Ubuntu Linux (64-bit)"
	case "debian12_64Guest":
		return "Debian GNU/Linux 12 (64-bit)"
	case "debian11_64Guest":
		return "Debian GNU/Linux 11 (64-bit)"
	case "rhel9_64Guest":
		return "Red Hat Enterprise Linux 9 (64-bit)"
	case "rhel8_64Guest":
		return "Red Hat Enterprise Linux 8 (64-bit)"
	case "rockylinux_64Guest":
		return "Rocky Linux (64-bit)"
	case "vmwarePhoton64Guest":
		return "VMware Photon OS (64-bit)"
	case "other5xLinux64Guest":
		return "Other 5.x or later Linux (64-bit)"
	case "otherLinux64Guest":
		return "Other Linux (64-bit)"
	case "windows2022srvNext_64Guest":
		return "Microsoft Windows Server 2025 (64-bit)"
	case "windows2019srvNext_64Guest":
		return "Microsoft Windows Server 2022 (64-bit)"
	case "windows2019srv_64Guest":
		return "Microsoft Windows Server 2019 (64-bit)"
	}
	return id
}

// snapshots are the requested snapshots of a VM.
type snapshots struct {
	vm   *simulator.VirtualMachine
	list []topology.Snapshot
}

// takeSnapshots takes them, each the child of the previous one, once the files of the VMs exist.
func (b *builder) takeSnapshots() error {
	for _, s := range b.snapshots {
		for _, spec := range s.list {
			if err := b.ctx.Err(); err != nil {
				return err
			}
			if err := b.snapshot(s.vm, spec); err != nil {
				return fmt.Errorf("VM %q: snapshot %q: %w", s.vm.Name, spec.Name, err)
			}
		}
	}
	return nil
}

func (b *builder) snapshot(vm *simulator.VirtualMachine, spec topology.Snapshot) error {
	ctx := b.fresh()
	var task vc.Ref
	ctx.WithLock(vm, func() {
		task = vm.CreateSnapshotTask(ctx, &types.CreateSnapshot_Task{
			This: vm.Self, Name: spec.Name, Description: spec.Description,
		}).(*methods.CreateSnapshot_TaskBody).Res.Returnval
	})
	_, err := b.tasks.wait(b.sim, task)
	return err
}
