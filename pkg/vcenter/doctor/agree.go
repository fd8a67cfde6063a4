package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// agree compares what nodes and their VMs say.
func (l *list) agree(all []matched) {
	if len(all) == 0 {
		return
	}
	l.differ("node-uuid", Warning, all, func(m matched) string {
		if m.swapped && m.ProviderID == "" {
			return "has the UUID of its VM in the other byte order"
		}
		return ""
	}, "the cloud provider finds the VM, and the CSI driver does not before the node has a provider ID",
		"run a cloud provider first; upgrade the VM's hardware version to have one order everywhere")
	l.differ("node-provider-id", Error, all, func(m matched) string {
		if !m.stale {
			return ""
		}
		return fmt.Sprintf("has provider ID %s, and the VM's is %s", m.ProviderID, match.ProviderID(m.vm.Facts().UUID))
	}, "the cloud provider looks for another VM, does not find it, and deletes the node", "a provider ID cannot be changed: delete the node, and have its kubelet join anew")
	l.differ("node-initialized", Warning, all, func(m matched) string {
		if m.Uninitialized {
			return "waits for a cloud provider"
		}
		if m.ProviderID == "" {
			return "has no provider ID"
		}
		return ""
	}, "what needs its VM, such as volumes and zones, does not work", "run the cloud controller manager, and the kubelets with --cloud-provider=external")
	l.differ("node-hostname", Warning, all, func(m matched) string {
		if m.vm.Hostname == "" || sameHost(m.Name, m.vm.Hostname) {
			return ""
		}
		return "is the VM whose guest calls itself " + m.vm.Hostname
	}, "a node that is looked for by its name is not found, or is taken for another one", "give node and guest one name")
	l.differ("node-addresses", Error, all, func(m matched) string {
		if len(m.vm.Addresses) == 0 { // which is told elsewhere
			return ""
		}
		wanted := m.Addresses
		if m.ProvidedIP != "" {
			wanted = []string{m.ProvidedIP}
		}
		for _, address := range wanted {
			if !slices.Contains(m.vm.Addresses, address) {
				return fmt.Sprintf("has address %s, and its VM reports %s", address, strings.Join(m.vm.Addresses, ", "))
			}
		}
		return ""
	}, "the cloud provider does not initialize a node whose address it does not find at the VM", "see that kubelet --node-ip and the guest's tools agree")
	l.differ("node-zones", Warning, all, func(m matched) string {
		if m.Region == "" && m.Zone == "" || m.vm.Zone == "" || m.Region == m.vm.Region && m.Zone == m.vm.Zone {
			return ""
		}
		return fmt.Sprintf("is labeled %s/%s, and its VM is in %s/%s", m.Region, m.Zone, m.vm.Region, m.vm.Zone)
	}, "pods and volumes are put where the VM is not", "a cloud provider labels a node once: correct the labels, or delete the node and have it join anew")
}

// differ makes one finding of the nodes of which something is said.
func (l *list) differ(id string, level Level, all []matched, say func(matched) string, why, try string) {
	var found, nodes []string
	for _, m := range all {
		if text := say(m); text != "" {
			found, nodes = append(found, m.Name+" "+text), append(nodes, m.Name)
		}
	}
	if len(found) == 0 {
		l.ok(id, "%d nodes are as their VMs are", len(all))
		return
	}
	l.add(level, id, fmt.Sprintf("%d of %d nodes: %s", len(found), len(all), sentences(found)), why, try)
	l.concern(nodes)
}

// sentences lists the first few.
func sentences(all []string) string {
	if more := len(all) - shown; more > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(all[:shown], "; "), more)
	}
	return strings.Join(all, "; ")
}
