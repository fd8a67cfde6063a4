package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// tags checks that the categories exist and that every VM has a region and a zone.
func (l *list) tags(ctx context.Context, c *vcenter.Connection, inv *inventory.Inventory, categories inventory.Categories) {
	there := []string{}
	err := c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		all, err := tags.NewManager(rc).GetCategories(ctx)
		for _, category := range all {
			there = append(there, category.Name)
		}
		return err
	})
	if err != nil {
		l.add(Error, "tag-categories", err.Error(), "no node gets a region and a zone", "check that the account may log in to the REST API")
		return
	}
	missing := absent.Find(absent.Wanted{Categories: []string{categories.Region, categories.Zone}}, absent.Present{Categories: there})
	for _, name := range missing {
		l.add(Error, "tag-categories", name.String()+", or this account may not see it",
			"no node gets a region and a zone", "make it with tags on datacenters, clusters or hosts, or name the right one in labels:")
	}
	if len(missing) > 0 {
		return
	}
	l.ok("tag-categories", "%s and %s are there", categories.Region, categories.Zone)
	l.each("zones", Warning, inv.VMs, func(vm inventory.VM) bool { return !vm.Template && vm.Zone == "" },
		"have no region and zone", "their nodes get no topology labels, and volumes with a topology cannot be put near them",
		"attach a tag of each category to their host, or to something around it")
}

// duplicates reports identities that several VMs share, across vCenters: they join one cluster.
func duplicates(vms []inventory.VM) []Finding {
	if len(vms) == 0 {
		return nil
	}
	l := new(list)
	for _, kind := range []struct {
		id, noun, why, try string
		of                 func(inventory.VM) string
	}{
		{
			"uuid-duplicate", "BIOS UUID", "the cloud provider takes one VM for another", "power off the copy and change its UUID (govc vm.change -uuid …)",
			func(vm inventory.VM) string { return vm.UUID },
		},
		{
			"hostname-duplicate", "hostname", "nodes are called by it, and only one can be", "give each guest its own name",
			func(vm inventory.VM) string { return strings.ToLower(vm.Hostname) },
		},
	} {
		by := map[string][]string{}
		for _, vm := range vms {
			if value := kind.of(vm); value != "" && !vm.Template {
				by[value] = append(by[value], vm.VCenter+":"+vm.Path)
			}
		}
		found := false
		for _, value := range slices.Sorted(maps.Keys(by)) {
			if len(by[value]) > 1 {
				found = true
				l.add(Error, kind.id, fmt.Sprintf("%s %s is that of %s", kind.noun, value, shorten.List(by[value], shown)), kind.why, kind.try)
			}
		}
		if !found {
			l.ok(kind.id, "no two VMs have one %s", kind.noun)
		}
	}
	return l.all
}

// agree compares nodes with their VMs.
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
	}, "the cloud provider looks for another VM, does not find it, and deletes the node", "a provider ID cannot be changed: delete the node, and let its kubelet join again")
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
		if len(m.vm.Addresses) == 0 { // reported by another check
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
	}, "pods and volumes are put where the VM is not", "a cloud provider labels a node once: correct the labels, or delete the node and let it join again")
}

// differ adds one finding for the nodes for which say returns a text.
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
