package inventory

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Feed tells the index of the named vCenter something that a simulated one does not do.
func (inv *Inventory) Feed(name string, updates ...vcenter.Update) {
	feed{inv.member(name).source}.Update(updates)
}

// Sync says that the watch of the named vCenter has told everything.
func (inv *Inventory) Sync(name string) { feed{inv.member(name).source}.Synced() }

// Offline returns an inventory of a vCenter "vc" that is fed by hand.
func Offline(t testing.TB) *Inventory {
	inv, _ := offline(t, Categories{})
	return inv
}
