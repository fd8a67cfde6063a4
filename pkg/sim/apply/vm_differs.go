package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// hardwareDiffers compares what is written in the VM's configuration.
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
			return // it is told of the vCenter
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
	_, _ = fmt.Sscanf(version, "vmx-%d", &n) // 0 when it is something else
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

// leaving tells whether a host goes: nothing stays on it.
func (p *planner) leaving(host *entity) bool { return !p.claimed[host.ref] }

func poolName(key string) string {
	_, name, _ := strings.Cut(key, "/Resources")
	if name == "" {
		return "of the compute resource"
	}
	return strings.TrimPrefix(name, "/")
}

// settingsDiffer compares the settings that the topology gives or gave: others are not its own.
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
			return // it had none, then
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
