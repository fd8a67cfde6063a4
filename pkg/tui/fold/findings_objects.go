package fold

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// small is the time that any change may take, at any speed.
const small = 2 * time.Second

// isBoundTo reports whether a node's providerID is that of a VM.
func isBoundTo(n api.Node, vm api.VM) bool {
	bound, err := match.ParseProviderID(n.ProviderID)
	u, unknown := match.ParseUUID(vm.UUID)
	return err == nil && unknown == nil && bound.Equal(u)
}

// ofNode compares a node with its VM.
func (f *findings) ofNode(n api.Node) (list []found) {
	vm, there := f.vmOf(n)
	_, err := match.ParseProviderID(n.ProviderID)
	switch {
	case !there && n.Registered && n.ProviderID != "":
		name, vm := f.namesake(n)
		switch {
		case name != "" && isBoundTo(n, vm):
			return []found{{"providerID", "VM " + name + " is not the only one of its UUID", small}}
		case name != "" && err == nil:
			return []found{{"providerID", "VM " + name + " has another UUID", small}}
		case name != "":
			return []found{{"providerID", "providerID is not the VM's UUID", small}}
		case err == nil: // the CCM looks for the VM only once the node is not ready
			return []found{{"vm", "VM gone, node still there", f.grace()}}
		}
		return nil // it is no VM
	case !there:
		return nil
	case !n.Registered:
		if vm.Power == "on" && vm.Role != "" && runs(vm) {
			list = append(list, found{"registered", "VM on, no node", small + f.speed.Of(pace.GuestBoot) + f.speed.Of(pace.NodeStartupGracePeriod)})
		}
		return list
	}
	list = append(list, f.readiness(n, vm)...)
	if n.ProviderID != "" && vm.UUID != "" && !isBoundTo(n, vm) {
		list = append(list, found{"providerID", "providerID is not the VM's UUID", small})
	}
	if !n.Initialized { // the CCM, which sets the rest, has not reached it yet
		return list
	}
	if text := addresses(n, vm); text != "" {
		list = append(list, found{"addresses", text, small + f.speed.Of(pace.CCMNodeStatusUpdate)})
	}
	if f.guest {
		return list
	}
	tags := small + f.speed.Of(pace.TagRefresh)
	for _, l := range []struct{ field, tag, label string }{{"region", vm.Region, n.Region}, {"zone", vm.Zone, n.Zone}} {
		switch {
		case l.tag == l.label:
		case l.label == "":
			list = append(list, found{l.field, fmt.Sprintf("tag says %s, no %s label", l.tag, l.field), tags})
		case l.tag == "":
			list = append(list, found{l.field, fmt.Sprintf("no %s tag, label says %s", l.field, l.label), tags})
		default:
			list = append(list, found{l.field, fmt.Sprintf("tag says %s, label says %s", l.tag, l.label), tags})
		}
	}
	return list
}

// readiness compares the readiness of a node with the state of its VM.
func (f *findings) readiness(n api.Node, vm api.VM) []found {
	host, _ := f.world.Row(world.Host, join(vm.VCenter, vm.Host))
	h, _ := host.Value.(api.Host)
	dead := ""
	switch {
	case vm.Power == "off" || vm.Power == "suspended":
		dead = "VM " + vm.Power
	case vm.Connection != "" && vm.Connection != "connected":
		dead = "VM " + vm.Connection
	case h.Connection != "" && h.Connection != "connected":
		dead = "host " + h.Connection
	}
	switch {
	case dead != "" && n.Ready == "True":
		return []found{{"ready", dead + ", node still Ready", f.grace()}}
	case dead == "" && n.Ready != "True" && vm.Power == "on" && vm.Tools && runs(vm) && !f.broken(n, vm):
		return []found{{"ready", "VM and guest up, node NotReady", small + f.speed.Of(pace.NodeStartupGracePeriod)}}
	case dead == "" && n.Ready == "True" && !n.Initialized:
		return []found{{"initialized", "node Ready, not initialized", small + f.speed.Of(pace.NodeStartupGracePeriod)}}
	}
	return nil
}

// runs reports whether the kubelet of a VM is known or assumed to run. A stopped one is a finding on its own.
func runs(vm api.VM) bool { return vm.Process == "" || vm.Process == "running" }

// grace returns how long a dead node may be Ready.
func (f *findings) grace() time.Duration {
	return small + f.speed.Of(pace.NodeMonitorGracePeriod) + f.speed.Of(pace.NodeMonitorPeriod)
}

// vmOf returns the VM of a node: of several with its name, the one with its UUID, or else one with a node role.
func (f *findings) vmOf(n api.Node) (of api.VM, ok bool) {
	if n.VM == "" {
		return api.VM{}, false
	}
	best := -1
	for _, key := range f.vms[join(n.VCenter, n.VM)] {
		row, _ := f.world.Row(world.VM, key)
		vm, _ := row.Value.(api.VM)
		rank := 0
		if vm.Role != "" {
			rank++
		}
		if isBoundTo(n, vm) {
			rank += 2
		}
		if rank > best {
			of, best, ok = vm, rank, true
		}
	}
	return of, ok
}

// namesake returns a VM with a node role and the same name that is not known to be this node's, and what it is called, "" for none.
func (f *findings) namesake(n api.Node) (name string, vm api.VM) {
	for _, key := range f.names[n.Name] {
		row, _ := f.world.Row(world.VM, key)
		if vm, _ := row.Value.(api.VM); vm.Role != "" {
			return row.Name, vm
		}
	}
	return "", api.VM{}
}

// broken reports whether a lasting fault may make the node not ready.
func (f *findings) broken(n api.Node, vm api.VM) bool {
	for _, targets := range f.leases {
		for _, t := range targets {
			if t.VCenter != "" && t.VCenter != vm.VCenter {
				continue
			}
			switch t.Kind {
			case "VM":
				if t.Name == vm.Name {
					return true
				}
			case "Node":
				if t.Name == n.Name {
					return true
				}
			case "Host":
				if t.Name == vm.Host {
					return true
				}
			case "Cluster":
				if t.Name == vm.Cluster {
					return true
				}
			case "Datacenter":
				if t.Name == vm.Datacenter {
					return true
				}
			case "Zone":
				if t.Name == vm.Zone || t.Name == vm.Region+"/"+vm.Zone {
					return true
				}
			case "Component":
				if t.Name == "node/"+n.Name || t.Name == "control-plane" {
					return true
				}
			}
		}
	}
	return false
}

// addresses describes an address of a node that its VM does not have; "" if all match, or it is unknown.
func addresses(n api.Node, vm api.VM) string {
	if vm.Power != "on" || !vm.Tools {
		return ""
	}
	has := make([]string, len(vm.Addresses))
	for i, text := range vm.Addresses {
		has[i] = normal(text)
	}
	for _, text := range n.Addresses {
		if slices.Contains(has, normal(text)) {
			continue
		}
		if len(vm.Addresses) == 0 {
			return "node has " + text + ", VM no address"
		}
		return "node has " + text + ", VM has not"
	}
	return ""
}

// normal normalizes an address for comparison.
func normal(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().WithZone("").String()
	}
	return text
}

// ofVM looks for other VMs with its UUID.
func (f *findings) ofVM(key string, vm api.VM) []found {
	for _, other := range f.uuids[id(vm.UUID)] {
		if row, _ := f.world.Row(world.VM, other); other != key && vm.UUID != "" {
			return []found{{"uuid", "UUID also of " + row.Name, small}}
		}
	}
	return nil
}

// attaching is how long attaching and detaching may take at any speed.
const attaching = 5 * time.Second

// ofVolume compares the node that a volume is attached to with the VM that has its disk.
func (f *findings) ofVolume(v api.Volume) []found {
	switch v.State {
	case api.VolumeLost:
		return []found{{"volume", "CNS has no such volume", small}}
	case api.VolumeOrphaned:
		return []found{{"volume", "in CNS, no PersistentVolume", attaching + f.speed.Of(pace.CSIReconcile)}}
	}
	if v.Handle == "" || v.VCenter == "" { // of another driver, or none yet
		return nil
	}
	keys := f.attachments[v.Name]
	for _, key := range keys {
		row, _ := f.world.Row(world.Attachment, key)
		a, _ := row.Value.(api.Attachment)
		vm := f.vmNamed(a.Node)
		switch {
		case a.Attached && v.VM == "":
			return []found{{"volume", "attached to " + a.Node + ", no VM has its disk", attaching}}
		case a.Attached && vm != "" && v.VM != vm:
			return []found{{"volume", "attached to " + a.Node + ", disk on VM " + v.VM, attaching}}
		case !a.Attached && v.VM != "" && len(keys) == 1:
			return []found{{"volume", "disk on VM " + v.VM + ", not attached to " + a.Node, attaching}}
		}
	}
	if v.VM != "" && len(keys) == 0 {
		return []found{{"volume", "disk on VM " + v.VM + ", no VolumeAttachment", attaching}}
	}
	return nil
}

// vmNamed returns the name of the VM of a node, or "" if unknown.
func (f *findings) vmNamed(node string) string {
	row, _ := f.world.Row(world.Node, node)
	n, _ := row.Value.(api.Node)
	return n.VM
}
