package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// Cluster is the nodes that are to be the VMs, as the API server has them.
type Cluster struct {
	// Name is what messages call it.
	Name string
	// Nodes are all of its nodes.
	Nodes []Node
}

// Node is what binds a node to a VM.
type Node struct {
	Name string
	// SystemUUID is what the kubelet reports, ProviderID what the cloud provider has set, empty until then.
	SystemUUID, ProviderID string
	// Addresses are its internal and external IP addresses, ProvidedIP the one that its kubelet was told to have.
	Addresses  []string
	ProvidedIP string
	// Region and Zone are those of its topology labels.
	Region, Zone string
	// Uninitialized says that it waits for a cloud provider.
	Uninitialized bool
}

// providerPrefix is before the UUID in a provider ID.
const providerPrefix = "vsphere://"

// matched is a node with its VM.
type matched struct {
	Node
	vm      inventory.VM
	swapped bool // the UUID is the VM's in the other byte order only
}

// match says of every node whether it has a VM, and whether the two agree. Where not all VMs could be read, a node without
// one is no error.
func (c *Cluster) match(vms []inventory.VM, whole bool) []Finding {
	l := &list{cluster: c.Name}
	vms = slices.DeleteFunc(slices.Clone(vms), func(vm inventory.VM) bool { return vm.Template })
	if len(c.Nodes) == 0 {
		l.add(Warning, "nodes", "the cluster has no node", "there is nothing to match with VMs", "name another context, or join nodes")
		return l.all
	}
	var found []matched
	var lost []string
	for _, n := range c.Nodes {
		if m, ok := find(n, vms); ok {
			found = append(found, m)
		} else {
			lost = append(lost, fmt.Sprintf("%s (%s)", n.Name, n.SystemUUID))
		}
	}
	switch {
	case len(lost) == 0:
		l.ok("nodes", "%d of %d nodes have a VM with their system UUID or provider ID", len(found), len(c.Nodes))
	case !whole:
		l.add(Warning, "nodes", fmt.Sprintf("%d of %d nodes have none of the VMs that could be read: %s", len(lost), len(c.Nodes), shorten.List(lost, shown)),
			"they may be in the vCenters that could not be asked", "mend what is said of those vCenters, and ask once more")
	default:
		l.add(Error, "nodes", fmt.Sprintf("%d of %d nodes have a system UUID that is no VM's: %s", len(lost), len(c.Nodes), shorten.List(lost, shown)),
			"the cloud provider does not initialize them, or takes them for deleted and removes them",
			"see that their VMs are among those chosen and may be seen by the account, and that the guests show them their own UUID (cat /sys/class/dmi/id/product_uuid)")
	}
	l.agree(found)
	return l.all
}

// concerned are the VMs that are nodes, and those that a node may be taken for because of their hostname.
func (c *Cluster) concerned(vms []inventory.VM) []inventory.VM {
	var found []inventory.VM
	for _, vm := range vms {
		if slices.ContainsFunc(c.Nodes, func(n Node) bool {
			_, is := find(n, []inventory.VM{vm})
			return is || !vm.Template && vm.Hostname != "" && sameHost(n.Name, vm.Hostname)
		}) {
			found = append(found, vm)
		}
	}
	return found
}

// Match is the VM of a node; swapped tells that the UUIDs agree in the other byte order only.
func Match(n Node, vms []inventory.VM) (vm inventory.VM, swapped, ok bool) {
	m, ok := find(n, slices.DeleteFunc(slices.Clone(vms), func(vm inventory.VM) bool { return vm.Template }))
	return m.vm, m.swapped, ok
}

// find looks a node's VM up by UUID: that of its provider ID, and that which its kubelet reports, in either byte order.
func find(n Node, vms []inventory.VM) (matched, bool) {
	id, _ := strings.CutPrefix(n.ProviderID, providerPrefix)
	for _, uuid := range []string{strings.ToLower(n.SystemUUID), strings.ToLower(id)} {
		for _, one := range []string{uuid, swapped(uuid)} {
			i := slices.IndexFunc(vms, func(vm inventory.VM) bool { return one != "" && vm.UUID == one })
			if i >= 0 {
				return matched{n, vms[i], one != uuid}, true
			}
		}
	}
	return matched{}, false
}

// swapped is a UUID with its first three groups in the other byte order, as firmware older and newer than SMBIOS 2.6 has
// them; empty for what is no UUID.
func swapped(id string) string {
	groups := strings.Split(id, "-")
	if len(groups) != 5 || len(groups[0]) != 8 || len(groups[1]) != 4 || len(groups[2]) != 4 {
		return ""
	}
	for i, group := range groups[:3] {
		var b strings.Builder
		for at := len(group); at > 0; at -= 2 {
			b.WriteString(group[at-2 : at])
		}
		groups[i] = b.String()
	}
	return strings.Join(groups, "-")
}
