package provider

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// A VM that does not run reports no addresses. For an initialized node no event is written, because its taint shows that; for an
// uninitialized one, an event reports that the VM is off. Both get an error, so that a node keeps its addresses.
func TestOffIsNoTrouble(t *testing.T) {
	power := func(s types.VirtualMachinePowerState) func(*inventory.VM) {
		return func(vm *inventory.VM) { vm.Power = s }
	}
	served, fresh := node("n1", "vsphere://"+u1, u1), uninitialized(node("n1", "", u1))
	for _, tc := range []struct {
		name     string
		power    types.VirtualMachinePowerState
		host, ip string
		served   []string // events on an initialized node
		fresh    string   // event on an uninitialized one
	}{
		{"off, no hostname", types.VirtualMachinePowerStatePoweredOff, "", "192.0.2.1", nil, "it is off; power it on"},
		{"off, no adapters", types.VirtualMachinePowerStatePoweredOff, "n1", "", nil, "it is off; power it on"},
		{"suspended", types.VirtualMachinePowerStateSuspended, "", "", nil, "it is suspended; power it on"},
		{"on", types.VirtualMachinePowerStatePoweredOn, "", "", []string{"Warning GuestNotReporting"}, "guest reports no hostname"},
		{"off, of another family", types.VirtualMachinePowerStatePoweredOff, "n1", "2001:db8::1", []string{"Warning IPFamilyMissing"}, "no usable ipv4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := vmOf(t, "one", u1, tc.host, tc.ip)
			power(tc.power)(vm)
			i := (&listIndex{vms: []*inventory.VM{vm}}).over("")
			r := newRecorded()
			for range 2 {
				m, err := i.metadata(served)
				if m != nil || err == nil {
					t.Fatalf("%v, %v", m, err)
				}
				r.metadata(served, m, err)
				up := (&listIndex{vms: []*inventory.VM{vm}}).over(ParityUpstream)
				exists, err := up.exists(t.Context(), served)
				r.existence(served, exists, "", err)
			}
			r.expect(t, "in service", tc.served...)
			_, err := i.metadata(fresh)
			if text := message(fresh, err); !strings.Contains(text, tc.fresh) {
				t.Errorf("told %q, want %q", text, tc.fresh)
			}
			again := newRecorded()
			again.metadata(fresh, nil, err)
			if said := again.said(); len(said) != 1 {
				t.Errorf("of a node that waits: %q", said)
			}
		})
	}
}
