package react

import (
	"time"

	"github.com/vmware/govmomi/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// dhcp gives guests other addresses at the end of a lease. All but newDHCP and addressed runs on the loop.
type dhcp struct {
	*Reactions
	lease time.Duration
	// current numbers the lease of each guest, so that the end of an older one is known to be stale.
	current map[vc.Ref]uint64
	number  uint64
}

func newDHCP(r *Reactions) *dhcp {
	d := &dhcp{Reactions: r, lease: r.orElse(r.opts.Reactions.DHCP.Lease, DefaultLease), current: make(map[vc.Ref]uint64)}
	for _, e := range r.base.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		vc.Fresh(r.base).WithLock(vm, func() {
			if vm.Guest != nil && vm.Guest.IpAddress != "" {
				d.addressed(vm.Self, true)
			}
		})
	}
	return d
}

// addressed notes that a guest has an address, or none any more.
func (d *dhcp) addressed(vm vc.Ref, has bool) {
	d.loop.soon(func() {
		if has {
			d.begin(vm)
		} else {
			d.forget(vm)
		}
	})
}

func (d *dhcp) begin(vm vc.Ref) {
	d.number++
	number := d.number
	d.current[vm] = number
	d.loop.after(d.lease, func() {
		if d.current[vm] != number {
			return
		}
		if !d.opts.Renew(vm) {
			d.begin(vm) // it has kept its address: static, or the network is full
		}
	})
}

func (d *dhcp) forget(vm vc.Ref) { delete(d.current, vm) }
