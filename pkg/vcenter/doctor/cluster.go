package doctor

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// Cluster is the cluster whose nodes are the VMs, as read from the API server.
type Cluster struct {
	// Name is the name in messages.
	Name string
	// Nodes are all of its nodes.
	Nodes []Node
}

// Node is a node to match with a VM.
type Node struct {
	// Node has the properties that identify the VM.
	match.Node
	// Addresses are its internal and external IP addresses, ProvidedIP the one configured for its kubelet.
	Addresses  []string
	ProvidedIP string
	// Region and Zone are the values of its topology labels.
	Region, Zone string
	// Uninitialized is set while it waits for a cloud provider.
	Uninitialized bool
}

// NodeOf returns what the package uses of a Node.
func NodeOf(n *corev1.Node) Node {
	out := Node{
		Node: kubenode.Facts(n), ProvidedIP: n.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr],
		Region: n.Labels[corev1.LabelTopologyRegion], Zone: n.Labels[corev1.LabelTopologyZone],
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			out.Addresses = append(out.Addresses, a.Address)
		}
	}
	out.Uninitialized = slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
	return out
}

// matched is a node with its VM.
type matched struct {
	Node
	vm      inventory.VM
	swapped bool // only the UUID in the other byte order matches
	stale   bool // the node's provider ID and its system UUID belong to different VMs
}

// match reports for every node whether it has a VM, and whether the two agree. If some VMs could not be read, a node without one
// is no error.
func (c *Cluster) match(vms []inventory.VM, whole bool) []Finding {
	l := &list{cluster: c.Name}
	var doubt error
	if !whole {
		doubt = errors.New("some VMs could not be read")
	}
	if len(c.Nodes) == 0 {
		l.add(Warning, "nodes", "the cluster has no node", "there is nothing to match with VMs", "name another context, or join nodes")
		return l.all
	}
	var found []matched
	var lost, several []string
	for _, n := range c.Nodes {
		a := Match(n, vms, doubt)
		m := matched{Node: n, vm: a.VM, swapped: a.Swapped}
		// The VM of its system UUID, which the cloud provider ignores once there is a provider ID.
		own := Match(Node{Node: match.Node{SystemUUID: n.SystemUUID}}, vms, nil)
		if n.ProviderID != "" && own.Reason == match.Found && (a.Reason != match.Found || !own.VM.Facts().UUID.Equal(a.VM.Facts().UUID)) {
			m.vm, m.stale = own.VM, true
		}
		switch {
		case a.Reason == match.Found || m.stale:
			found = append(found, m)
		case a.Reason == match.Ambiguous:
			several = append(several, fmt.Sprintf("%s (%s %s)", n.Name, a.By, a.Key))
		default:
			lost = append(lost, fmt.Sprintf("%s (%s)", n.Name, n.SystemUUID))
		}
	}
	if len(several) > 0 {
		l.add(Error, "nodes", fmt.Sprintf("%d of %d nodes match several VMs: %s", len(several), len(c.Nodes), shorten.List(several, shown)),
			"the cloud provider takes none of them rather than the wrong one", "give each copy its own UUID and hostname")
	}
	switch {
	case len(found) == 0 && len(lost) == 0:
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

// concerned returns the VMs that are nodes, and those that share a hostname with a node.
func (c *Cluster) concerned(vms []inventory.VM) []inventory.VM {
	var found []inventory.VM
	for _, vm := range vms {
		if slices.ContainsFunc(c.Nodes, func(n Node) bool {
			one := []inventory.VM{vm}
			own := Node{Node: match.Node{SystemUUID: n.SystemUUID}}
			return Match(n, one, nil).Reason == match.Found || Match(own, one, nil).Reason == match.Found || !vm.Template && sameHost(n.Name, vm.Hostname)
		}) {
			found = append(found, vm)
		}
	}
	return found
}

// Match returns the VM that the cloud provider uses for a node. doubt is the reason why VMs may be missing.
func Match(n Node, vms []inventory.VM, doubt error) match.Answer[inventory.VM] {
	return match.Find(n.Node, match.List[inventory.VM]{VMs: vms, Doubt: doubt}, match.Behavior{})
}

func sameHost(node, guest string) bool {
	exactly, shortly := match.SameHostName(guest, node)
	return exactly || shortly
}
