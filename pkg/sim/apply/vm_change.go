package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// vmChange is the change of one VM.
type vmChange struct {
	m    *plannedVM
	what []string
	// off: the VM must be powered off.
	off bool

	spec      types.VirtualMachineConfigSpec // changes without other objects
	reconfig  bool
	cards     bool
	version   string
	relocate  bool
	rename    bool
	folder    bool
	customize bool
	drop      []string // snapshots
	take      []topology.Snapshot
}

func (v *vmChange) say(format string, args ...any) {
	v.what = append(v.what, fmt.Sprintf(format, args...))
}

// changeVM plans the changes of an existing VM.
func (p *planner) changeVM(m *plannedVM) {
	v := &vmChange{m: m}
	p.hardwareDiffers(v)
	p.placeDiffers(v)
	p.nicsDiffer(v)
	p.settingsDiffer(v)
	p.snapshotsDiffer(v)
	if m.before != nil && (m.before.Tools == topology.No) != (m.Tools == topology.No) {
		p.cannot(m.path, "tools: are installed in the guest, which is none of the vCenter's business")
	}
	if guestDiffers(m) {
		v.customize, v.off = true, true
		v.say("hostname %s, addresses %s", m.Hostname, strings.Join(bare(m.VM), ","))
	}

	template := get[bool](m.live, "config.template")
	wantTemplate := m.Template == topology.Yes
	if template != wantTemplate {
		v.off = true
		if wantTemplate {
			v.say("becomes a template")
		} else {
			v.say("is a template no more")
		}
	}
	on := running(m.live)
	suspended := get[types.VirtualMachinePowerState](m.live, "runtime.powerState") == types.VirtualMachinePowerStateSuspended
	wantOn := m.Power != topology.PowerOff && !wantTemplate
	switch {
	case wantOn && !on:
		v.say("power on")
	case wantOn && suspended && !v.off:
		v.say("resume")
	case !wantOn && on && !wantTemplate:
		v.say("power off")
	}
	if len(v.what) == 0 {
		return
	}
	down := on && (v.off || !wantOn)
	if down && wantOn {
		v.say("power off and on")
	}
	s := p.step(Change, KindVM, m.path, strings.Join(v.what, "; "), func(ctx context.Context, c *vim25.Client) error {
		return p.doVM(ctx, c, v, template, down)
	})
	s.PowerOff = down
}

func bare(vm *topology.VM) []string {
	var all []string
	for _, nic := range vm.NICs {
		for _, a := range nic.Addresses {
			text, _, _ := strings.Cut(a, "/")
			all = append(all, text)
		}
	}
	return all
}

// doVM makes the changes, in a valid order.
func (p *planner) doVM(ctx context.Context, c *vim25.Client, v *vmChange, template, down bool) error {
	m := v.m
	vm := object.NewVirtualMachine(c, m.ref)
	if down {
		if err := powerOff(ctx, c, m.ref); err != nil {
			return err
		}
	}
	at, err := p.site(m.placedVM)
	if err != nil {
		return err
	}
	work := v.relocate || v.reconfig || v.cards || v.customize || v.version != ""
	if template && (work || m.Template != topology.Yes) {
		if err := vm.MarkAsVirtualMachine(ctx, *object.NewResourcePool(c, at.pool), object.NewHostSystem(c, at.host)); err != nil {
			return err
		}
		template = false
	}
	if err := p.place(ctx, c, v, vm, at); err != nil {
		return err
	}
	if v.version != "" {
		t, err := vm.UpgradeVM(ctx, v.version)
		if err := wait(ctx, t, err); err != nil {
			return err
		}
	}
	if v.cards {
		if v.spec.DeviceChange, err = p.nicChanges(ctx, c, m); err != nil {
			return err
		}
	}
	if v.reconfig || v.cards {
		t, err := vm.Reconfigure(ctx, v.spec)
		if err := wait(ctx, t, err); err != nil {
			return err
		}
	}
	if v.customize {
		if err := customize(ctx, vm, m.placedVM); err != nil {
			return err
		}
	}
	if err := p.snapshots(ctx, v, vm); err != nil {
		return err
	}
	switch {
	case m.Template == topology.Yes:
		if template {
			return nil
		}
		return vm.MarkAsTemplate(ctx)
	case m.Power == topology.PowerOff:
		return nil
	}
	state, err := vm.PowerState(ctx)
	if err != nil || state == types.VirtualMachinePowerStatePoweredOn {
		return err
	}
	t, err := vm.PowerOn(ctx)
	return wait(ctx, t, err)
}

// place moves and renames a VM.
func (p *planner) place(ctx context.Context, c *vim25.Client, v *vmChange, vm *object.VirtualMachine, at site) error {
	if v.relocate {
		spec := types.VirtualMachineRelocateSpec{Host: &at.host, Pool: &at.pool, Datastore: &at.datastore, Folder: &at.folder}
		t, err := vm.Relocate(ctx, spec, types.VirtualMachineMovePriorityDefaultPriority)
		if err := wait(ctx, t, err); err != nil {
			return err
		}
	} else if v.folder {
		t, err := object.NewFolder(c, at.folder).MoveInto(ctx, []ref{v.m.ref})
		if err := wait(ctx, t, err); err != nil {
			return err
		}
	}
	if v.rename {
		t, err := vm.Rename(ctx, v.m.Name)
		return wait(ctx, t, err)
	}
	return nil
}

func (p *planner) snapshots(ctx context.Context, v *vmChange, vm *object.VirtualMachine) error {
	for _, name := range v.drop {
		t, err := vm.RemoveSnapshot(ctx, name, false, nil)
		if err := wait(ctx, t, err); err != nil {
			return fmt.Errorf("snapshot %q: %w", name, err)
		}
	}
	for _, s := range v.take {
		t, err := vm.CreateSnapshot(ctx, s.Name, s.Description, false, false)
		if err := wait(ctx, t, err); err != nil {
			return fmt.Errorf("snapshot %q: %w", s.Name, err)
		}
	}
	return nil
}

// powerOff powers a VM off, unless it is off.
func powerOff(ctx context.Context, c *vim25.Client, r ref) error {
	t, err := object.NewVirtualMachine(c, r).PowerOff(ctx)
	if err := wait(ctx, t, err); err != nil && !fault.Is(err, new(types.InvalidPowerState)) {
		return err
	}
	return nil
}

// plannedVM is a VM of the topology with the existing VM, if any.
type plannedVM struct {
	*placedVM
	live   *entity
	before *placedVM // in the previous topology; nil without one
	ref    ref       // set once it exists
}

var errNoVM = errors.New("the VM is not there")

// holder returns its reference after the previous steps.
func (m *plannedVM) holder() (ref, error) {
	if m.ref == (ref{}) {
		return ref{}, errNoVM
	}
	return m.ref, nil
}

// plannedVMs plans the VMs: existing ones first, so that names become free for new ones.
func (p *planner) plannedVMs() []*plannedVM {
	all := p.match()
	for _, m := range all {
		if m.live != nil {
			p.changeVM(m)
		}
	}
	for _, m := range all {
		if m.live == nil {
			p.createVM(m)
		}
	}
	return all
}

// match finds the VMs of the topology in the inventory: by place and UUID, by UUID, by place.
func (p *planner) match() []*plannedVM {
	var all []*plannedVM
	for _, vm := range vms(p.want) {
		all = append(all, &plannedVM{placedVM: vm})
	}
	sameUUID := func(o *entity, uuid string) bool { return strings.EqualFold(get[string](o, "config.uuid"), uuid) }
	for _, fits := range []func(*placedVM, *entity) bool{
		func(vm *placedVM, o *entity) bool { return o.key == vm.key && sameUUID(o, vm.UUID) },
		func(vm *placedVM, o *entity) bool { return sameUUID(o, vm.UUID) },
		func(vm *placedVM, o *entity) bool { return o.key == vm.key },
	} {
		index := p.candidates()
		for _, m := range all {
			if m.live != nil {
				continue
			}
			for _, o := range append(index[m.key], index[strings.ToLower(m.UUID)]...) {
				if !p.claimed[o.ref] && fits(m.placedVM, o) {
					m.live, m.ref = o, o.ref
					p.claimed[o.ref] = true
					break
				}
			}
		}
	}
	index := map[string]*placedVM{}
	for _, t := range p.opts.before() {
		had := vcenterOf(t, p.want.Name)
		if had == nil {
			continue
		}
		for _, vm := range vms(had) {
			index[vm.key], index[strings.ToLower(vm.UUID)] = vm, vm
		}
	}
	for _, o := range p.vms {
		p.hadVMs[o.ref] = index[o.key] != nil || index[strings.ToLower(get[string](o, "config.uuid"))] != nil
	}
	for _, m := range all {
		if m.live == nil {
			continue
		}
		if m.before = index[strings.ToLower(get[string](m.live, "config.uuid"))]; m.before == nil {
			m.before = index[m.live.key]
		}
	}
	return all
}

// candidates returns the unmatched VMs, by key and by UUID.
func (p *planner) candidates() map[string][]*entity {
	index := map[string][]*entity{}
	for _, o := range p.vms {
		if !p.claimed[o.ref] {
			index[o.key] = append(index[o.key], o)
			uuid := strings.ToLower(get[string](o, "config.uuid"))
			index[uuid] = append(index[uuid], o)
		}
	}
	return index
}

// markVM plans tags and permissions of a VM.
func (p *planner) markVM(m *plannedVM) {
	var had topology.Marks
	if m.before != nil {
		had = m.before.Marks
	}
	p.mark(KindVM, m.path, m.holder, m.Tags, had.Tags, m.Permissions, had.Permissions)
}

func running(o *entity) bool {
	s := get[types.VirtualMachinePowerState](o, "runtime.powerState")
	return s != "" && s != types.VirtualMachinePowerStatePoweredOff
}

// hardwareDiffers compares the VM's configuration.
func (p *planner) hardwareDiffers(v *vmChange) {
	m := v.m
	set := func(differs bool, apply func(), format string, args ...any) {
		if differs {
			apply()
			v.say(format, args...)
			v.reconfig, v.off = true, true
		}
	}
	cpus, memory := get[int32](m.live, "config.hardware.numCPU"), get[int32](m.live, "config.hardware.memoryMB")
	set(cpus != m.CPUs, func() { v.spec.NumCPUs = m.CPUs }, "%d → %d CPUs", cpus, m.CPUs)
	set(memory != m.Memory.MiB(), func() { v.spec.MemoryMB = int64(m.Memory.MiB()) }, "memory %s → %s", topology.Bytes(memory)*topology.Mi, m.Memory)
	guest := get[string](m.live, "config.guestId")
	set(guest != m.GuestID, func() { v.spec.GuestId = m.GuestID }, "guestID %s → %s", guest, m.GuestID)
	uuid, instance := get[string](m.live, "config.uuid"), get[string](m.live, "config.instanceUuid")
	set(!strings.EqualFold(uuid, m.UUID), func() { v.spec.Uuid = m.UUID }, "uuid %s → %s", uuid, m.UUID)
	set(!strings.EqualFold(instance, m.InstanceUUID), func() { v.spec.InstanceUuid = m.InstanceUUID }, "instanceUUID %s → %s", instance, m.InstanceUUID)
	version := get[string](m.live, "config.version")
	if m.HardwareVersion != "" && version != m.HardwareVersion {
		if p.had != nil && p.had.Version != p.want.Version {
			return // reported for the vCenter
		}
		if hardware(m.HardwareVersion) < hardware(version) {
			p.cannot(m.path, "has hardware version %s, and none goes back to %s", version, m.HardwareVersion)
			return
		}
		v.version, v.off = m.HardwareVersion, true
		v.say("hardware %s → %s", version, m.HardwareVersion)
	}
}

func hardware(version string) (n int) {
	_, _ = fmt.Sscanf(version, "vmx-%d", &n) // 0 for another format
	return n
}

// placeDiffers compares name, folder, host, pool and datastore.
func (p *planner) placeDiffers(v *vmChange) {
	m := v.m
	if m.live.name != m.Name {
		v.rename = true
		v.say("renamed from %s", m.live.name)
	}
	dc, _, _ := strings.Cut(strings.TrimPrefix(m.live.key, "//"), "/")
	moved := dc != m.dc.Name
	if parent(m.live.key) != m.folderKey() {
		v.folder = !moved
		v.say("moved from %s", strings.TrimSuffix(p.path(m.live), "/"+m.live.name))
	}
	host := p.all[get[ref](m.live, "runtime.host")]
	switch {
	case host == nil || parent(host.key) != parent(m.hostKey()),
		host.key != m.hostKey() && (m.before == nil || m.before.Host != m.Host || p.leaving(host)):
		from := ""
		if host != nil {
			from = host.name
		}
		v.relocate = true
		v.say("host %s → %s", from, m.Host)
	}
	if pool := p.all[get[ref](m.live, "resourcePool")]; m.Template != topology.Yes && pool != nil && pool.key != m.poolKey() && !(v.relocate && m.Pool == "" && pool.name == "Resources") {
		v.relocate = true
		v.say("pool %s → %s", poolName(pool.key), poolName(m.poolKey()))
	}
	stores := get[types.ArrayOfManagedObjectReference](m.live, "datastore").ManagedObjectReference
	if live := p.byKey[m.datastoreKey()]; live == nil || !slices.Contains(stores, live.ref) {
		v.relocate = true
		v.say("datastore → %s", m.Datastore)
	}
	v.relocate = v.relocate || moved
}

// leaving reports whether a host will be removed.
func (p *planner) leaving(host *entity) bool { return !p.claimed[host.ref] }

func poolName(key string) string {
	_, name, _ := strings.Cut(key, "/Resources")
	if name == "" {
		return "of the compute resource"
	}
	return strings.TrimPrefix(name, "/")
}

// settingsDiffer compares the settings in the current or previous topology, ignoring others.
func (p *planner) settingsDiffer(v *vmChange) {
	want, err := settings(v.m.placedVM)
	if err != nil {
		p.cannot(v.m.path, "%v", err)
		return
	}
	now := map[string]any{}
	for _, o := range get[types.ArrayOfOptionValue](v.m.live, "config.extraConfig").OptionValue {
		now[o.GetOptionValue().Key] = o.GetOptionValue().Value
	}
	wanted := map[string]bool{}
	for _, o := range want {
		kv := o.GetOptionValue()
		wanted[kv.Key] = true
		if now[kv.Key] != kv.Value {
			v.spec.ExtraConfig = append(v.spec.ExtraConfig, kv)
			v.say("set %s", kv.Key)
		}
	}
	if v.m.before != nil {
		had, err := settings(v.m.before)
		if err != nil {
			return // it had none
		}
		for _, o := range had {
			key := o.GetOptionValue().Key
			if _, there := now[key]; there && !wanted[key] {
				v.spec.ExtraConfig = append(v.spec.ExtraConfig, &types.OptionValue{Key: key, Value: ""})
				v.say("unset %s", key)
			}
		}
	}
	v.reconfig = v.reconfig || len(v.spec.ExtraConfig) > 0
}

// snapshotsDiffer compares the chain of snapshots.
func (p *planner) snapshotsDiffer(v *vmChange) {
	var now []string
	info := get[types.VirtualMachineSnapshotInfo](v.m.live, "snapshot")
	for list := info.RootSnapshotList; len(list) > 0; list = list[0].ChildSnapshotList {
		now = append(now, list[0].Name)
	}
	var want, had []string
	for _, s := range v.m.Snapshots {
		want = append(want, s.Name)
	}
	if v.m.before != nil {
		for _, s := range v.m.before.Snapshots {
			had = append(had, s.Name)
		}
	}
	var kept []string
	for _, name := range now {
		switch {
		case slices.Contains(want, name):
			kept = append(kept, name)
		case slices.Contains(had, name) || p.opts.Prune:
			v.drop = append(v.drop, name)
			v.say("snapshot %s removed", name)
		}
	}
	if len(kept) > len(want) || !slices.Equal(kept, want[:len(kept)]) {
		p.cannot(v.m.path, "snapshots %s: an order is not changed, and none comes before others: have %s", strings.Join(want, ", "), strings.Join(now, ", "))
		return
	}
	for _, s := range v.m.Snapshots[len(kept):] {
		v.take = append(v.take, s)
		v.say("snapshot %s", s.Name)
	}
}
