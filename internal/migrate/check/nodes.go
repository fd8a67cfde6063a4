package check

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/csi-translation-lib/plugins"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/doctor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

const (
	taintUninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
	// annotationIP is what a kubelet was told its address is.
	annotationIP = "alpha.kubernetes.io/provided-node-ip"
)

// binding is what doctor needs of a node.
func binding(n *corev1.Node) doctor.Node {
	out := doctor.Node{
		Name: n.Name, SystemUUID: n.Status.NodeInfo.SystemUUID, ProviderID: n.Spec.ProviderID, ProvidedIP: n.Annotations[annotationIP],
		Region: n.Labels[corev1.LabelTopologyRegion], Zone: n.Labels[corev1.LabelTopologyZone], Uninitialized: uninitialized(n),
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			out.Addresses = append(out.Addresses, a.Address)
		}
	}
	return out
}

func uninitialized(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taintUninitialized })
}

// readNodes takes the nodes into the report, control plane first: the order in which they are migrated.
func (c *run) readNodes() {
	for i := range c.objects.nodes {
		n := &c.objects.nodes[i]
		_, master := n.Labels["node-role.kubernetes.io/control-plane"]
		_, old := n.Labels["node-role.kubernetes.io/master"]
		one := Node{
			Name: n.Name, ControlPlane: master || old, Kubelet: n.Status.NodeInfo.KubeletVersion, SystemUUID: n.Status.NodeInfo.SystemUUID,
			ProviderID: n.Spec.ProviderID, Uninitialized: uninitialized(n),
			Zone: n.Labels[corev1.LabelTopologyZone], Region: n.Labels[corev1.LabelTopologyRegion],
			OldZone: n.Labels[corev1.LabelFailureDomainBetaZone], OldRegion: n.Labels[corev1.LabelFailureDomainBetaRegion],
		}
		if csi, ok := c.objects.csiNodes[n.Name]; ok {
			for _, d := range csi.Spec.Drivers {
				one.Driver = one.Driver || d.Name == names.Driver
			}
			one.Migrated = slices.Contains(strings.Split(csi.Annotations["storage.alpha.kubernetes.io/migrated-plugins"], ","), plugins.VSphereInTreePluginName)
		}
		c.report.Nodes = append(c.report.Nodes, one)
	}
	slices.SortFunc(c.report.Nodes, func(a, b Node) int {
		if a.ControlPlane != b.ControlPlane {
			if a.ControlPlane {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// bind finds the VM of every node, in all that was read.
func (c *run) bind(cluster *doctor.Cluster, found []doctor.Finding) {
	var vms []inventory.VM
	for _, s := range c.vcenters {
		vms = append(vms, s.vms...)
	}
	without := map[string]bool{}
	for _, f := range found {
		if f.ID == "disk-uuid" {
			for _, path := range f.Objects {
				without[f.VCenter+path] = true
			}
		}
	}
	for _, n := range cluster.Nodes {
		i := slices.IndexFunc(c.report.Nodes, func(r Node) bool { return r.Name == n.Name })
		bySystem := n
		bySystem.ProviderID = ""
		vm, swapped, ok := doctor.Match(bySystem, vms)
		match := "uuid"
		if !ok {
			if vm, swapped, ok = doctor.Match(n, vms); !ok {
				continue
			}
			match = "provider ID"
		}
		if swapped {
			match += ", other byte order"
		}
		c.report.Nodes[i].VM = &VM{
			VCenter: vm.VCenter, Path: vm.Path, UUID: vm.UUID, Match: match, Power: vm.Power, Hostname: vm.Hostname,
			HardwareVersion: vm.HardwareVersion, DiskUUID: !without[vm.VCenter+vm.Path], Region: vm.Region, Zone: vm.Zone,
		}
	}
}
