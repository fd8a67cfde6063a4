package inventory

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Feed passes updates to the index of the named vCenter that a simulated one does not send.
func (inv *Inventory) Feed(name string, updates ...vcenter.Update) {
	feed{inv.member(name).source}.Update(updates)
}

// Sync marks the watch of the named vCenter as complete.
func (inv *Inventory) Sync(name string) { feed{inv.member(name).source}.Synced() }

// Offline returns an inventory of a vCenter "vc" that tests update themselves.
func Offline(t testing.TB) *Inventory {
	inv, _ := offline(t, Categories{})
	return inv
}
