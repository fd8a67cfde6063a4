package react_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func TestDHCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 10 * time.Minute
		r := setup(t, 3, topology.Reactions{DHCP: topology.DHCP{Enabled: topology.Yes, Lease: topology.Duration(lease)}}, func(r *rig) map[ref]guest.Info {
			infos := map[ref]guest.Info{}
			for i, v := range r.refs("VirtualMachine") {
				var mac string
				for _, d := range r.base.Map.Get(v).(*simulator.VirtualMachine).Config.Hardware.Device {
					if c, ok := d.(types.BaseVirtualEthernetCard); ok {
						mac = c.GetVirtualEthernetCard().MacAddress
					}
				}
				infos[v] = guest.Info{
					HostName:  "node",
					Addresses: map[string][]netip.Prefix{mac: {netip.MustParsePrefix([]string{"198.18.0.2/24", "198.18.0.3/24", "198.18.0.4/24"}[i])}},
					Static:    i == 2,
				}
			}
			return infos
		})
		vms := r.refs("VirtualMachine")
		address := func(i int) string {
			m := r.vm(vms[i])
			if m.Guest.IpAddress != "" && m.Guest.Net[0].IpAddress[0] != m.Guest.IpAddress {
				t.Errorf("%+v", m.Guest)
			}
			return m.Guest.IpAddress
		}
		if address(0) != "198.18.0.2" {
			t.Fatalf("at first: %s", address(0))
		}
		time.Sleep(lease - time.Second)
		synctest.Wait()
		if address(0) != "198.18.0.2" {
			t.Error("before the end of its lease")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		seen := map[string]bool{}
		for i, was := range []string{"198.18.0.2", "198.18.0.3"} {
			a := address(i)
			if a == was || a == "" || seen[a] || !netip.MustParsePrefix("198.18.0.0/24").Contains(netip.MustParseAddr(a)) {
				t.Errorf("VM %d has %q", i, a)
			}
			seen[a] = true
		}
		if address(2) != "198.18.0.4" {
			t.Errorf("a static address became %s", address(2))
		}

		// A guest that is down keeps its lease in mind, and has no address to renew.
		was := address(0)
		vm := object.NewVirtualMachine(r.client, vms[0])
		done(t)(vm.PowerOff(t.Context()))
		time.Sleep(2 * lease)
		synctest.Wait()
		if a := address(0); a != "" {
			t.Errorf("off, at %s", a)
		}
		done(t)(vm.PowerOn(t.Context()))
		synctest.Wait()
		if address(0) != was {
			t.Errorf("after a reboot %s, want %s", address(0), was)
		}
		done(t)(vm.PowerOff(t.Context()))
		done(t)(vm.Destroy(t.Context()))
		time.Sleep(2 * lease)
		synctest.Wait()
	})
}
