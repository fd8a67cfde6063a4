package check

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/csi-translation-lib/plugins"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/doctor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

func uninitialized(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
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
		a := doctor.Match(n, vms, nil)
		if a.Reason != match.Found {
			continue
		}
		vm, swapped, by := a.VM, a.Swapped, string(a.By)
		switch u, err := match.ParseUUID(n.SystemUUID); {
		case err == nil && u.Is(vm.Facts().UUID):
			by, swapped = "uuid", u != vm.Facts().UUID
		case a.By == match.ByProviderID:
			by = "provider ID"
		}
		if swapped {
			by += ", other byte order"
		}
		c.report.Nodes[i].VM = &VM{
			VCenter: vm.VCenter, Path: vm.Path, UUID: vm.UUID, Match: by, Power: vm.Power, Hostname: vm.Hostname,
			HardwareVersion: vm.HardwareVersion, DiskUUID: !without[vm.VCenter+vm.Path], Region: vm.Region, Zone: vm.Zone,
		}
	}
}
