package real

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// chosen filters the VMs that were not chosen out of a vCenter's updates: there may be thousands of them. Only the goroutine
// of the watch uses it.
type chosen struct {
	uuids, names map[string]bool // of the VMs of the topology
	others       map[types.ManagedObjectReference]bool
}

// newFilter returns [vcenters.VCenter.Chosen]: nil where all VMs were chosen.
func newFilter(s inventory.Selection, t *topology.Topology, name string) func([]vcenter.Update) []vcenter.Update {
	if reflect.DeepEqual(s, inventory.Selection{}) {
		return nil
	}
	c := &chosen{uuids: map[string]bool{}, names: map[string]bool{}, others: map[types.ManagedObjectReference]bool{}}
	for r := range t.AllVMs() {
		if r.VCenter.Name == name {
			c.uuids[strings.ToLower(r.VM.UUID)], c.names[r.VM.Name] = true, true
		}
	}
	return c.filter
}

// filter returns the updates of chosen VMs and of all that is no VM.
func (c *chosen) filter(updates []vcenter.Update) []vcenter.Update {
	var kept []vcenter.Update
	for _, u := range updates {
		if u.Ref.Type != "VirtualMachine" {
			kept = append(kept, u)
			continue
		}
		if u.Kind == vcenter.Enter {
			delete(c.others, u.Ref)
			if !c.match(u) {
				c.others[u.Ref] = true
			}
		}
		if !c.others[u.Ref] {
			kept = append(kept, u)
		}
		if u.Kind == vcenter.Leave {
			delete(c.others, u.Ref)
		}
	}
	return kept
}

// match reports whether a VM that the watch has not seen before is a chosen one: by its UUID, or by its name when its host is
// disconnected and the vCenter does not know its UUID.
func (c *chosen) match(u vcenter.Update) bool {
	name, uuid := "", ""
	for _, change := range u.Changes {
		switch change.Name {
		case "name":
			name, _ = change.Val.(string)
		case "config.uuid":
			uuid, _ = change.Val.(string)
		}
	}
	return c.uuids[strings.ToLower(uuid)] || uuid == "" && c.names[name]
}
