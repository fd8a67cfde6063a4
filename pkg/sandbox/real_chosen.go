package sandbox

import (
	"reflect"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// chosen leaves out of a real vCenter's updates the VMs that nobody has chosen: there may be thousands of somebody else's. It
// is used by the watch's goroutine alone. Nil leaves out none.
type chosen struct {
	uuids, names map[string]bool // of the VMs of the topology
	others       map[ref]bool    // VMs that were left out
}

// chosenOf is for the VMs that were read of a vCenter; nil for a simulated one, and where all were chosen.
func (s *Sandbox) chosenOf(vc *vcenters.VCenter) *chosen {
	if vc.Sim != nil || s.opts.Real == nil || reflect.DeepEqual(s.opts.Real.Selection, inventory.Selection{}) {
		return nil
	}
	c := &chosen{uuids: map[string]bool{}, names: map[string]bool{}, others: map[ref]bool{}}
	for r := range s.opts.Topology.AllVMs() {
		if r.VCenter.Name == vc.Name() {
			c.uuids[strings.ToLower(r.VM.UUID)], c.names[r.VM.Name] = true, true
		}
	}
	return c
}

// only are the updates that are about chosen VMs, or about no VM.
func (c *chosen) only(updates []vcenter.Update) []vcenter.Update {
	if c == nil {
		return updates
	}
	var kept []vcenter.Update
	for _, u := range updates {
		if u.Ref.Type != "VirtualMachine" {
			kept = append(kept, u)
			continue
		}
		if u.Kind == vcenter.Enter {
			delete(c.others, u.Ref)
			if !c.is(u) {
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

// is tells whether a VM that is new to the watch is a chosen one: by its UUID, or by its name where its host is away and
// nobody knows its UUID.
func (c *chosen) is(u vcenter.Update) bool {
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
