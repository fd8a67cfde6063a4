package inventory

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"

// Feed tells the index of the named vCenter something that a simulated one does not do.
func (inv *Inventory) Feed(name string, updates ...vcenter.Update) {
	feed{inv.member(name)}.Update(updates)
}
