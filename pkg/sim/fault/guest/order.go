package guest

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
)

func nicOrder() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.nic-order", Touches: touchesAddresses,
		Short: "has guests report their second NIC first",
		Long: "Devices of the VM stay as they are. The address that vSphere shows (guest.ipAddress) is now that of the second NIC: " +
			"who takes the first address that there is gets one of another network. Refused for VMs with one NIC.",
		Reported: []string{"cloud-provider-vsphere#270", "cloud-provider-vsphere#1455"},
	}, func(_ *fault.Call, vm *machine.VM, _ guest.Info) (string, change, error) {
		nics := 0
		for _, d := range vm.Config.Hardware.Device {
			if _, ok := d.(types.BaseVirtualEthernetCard); ok {
				nics++
			}
		}
		if nics < 2 {
			return "", nil, fault.Refuse("vm %s: has %d NIC", vm.Name, nics)
		}
		return "report the second NIC first", func(r guest.Report) guest.Report {
			if len(r.NICs) < 2 {
				return r
			}
			r.NICs = slices.Clone(r.NICs)
			r.NICs[0], r.NICs[1] = r.NICs[1], r.NICs[0]
			r.Address = r.Primary()
			return r
		}, nil
	})
}

// mostNICs is how many NICs VMware Tools report, unless they are told otherwise.
const mostNICs = 16

func pseudoNICs() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.pseudo-nics", Touches: touchesAddresses,
		Short: "has guests report the network devices of containers, too",
		Long: "Each pod has a device on its node, and VMware Tools report those as well: without a network, with -1 as their device " +
			"(deviceConfigId), and with addresses of the pods. They report 16 NICs at most: with enough pseudo NICs before " +
			"the real ones, those are not told at all, and the node loses its addresses.",
		Params: []fault.Param{
			{Name: "count", Short: "how many", Type: fault.Number, Default: "20"},
			{Name: "place", Short: "before or after the real ones", Type: fault.Text, Default: "before", Choices: []string{"before", "after"}},
		},
		Reported: []string{"cloud-provider-vsphere#338"},
	}, func(c *fault.Call, _ *machine.VM, _ guest.Info) (string, change, error) {
		count := c.Params.Number("count")
		if count < 1 || count > 250 {
			return "", nil, invalid("count: want 1 to 250")
		}
		pseudo := make([]types.GuestNicInfo, count)
		for i := range pseudo {
			pseudo[i] = pseudoNIC(i)
		}
		before := c.Params.Text("place") == "before"
		return fmt.Sprintf("report %d pseudo NICs", count), func(r guest.Report) guest.Report {
			if !r.Tools {
				return r
			}
			if before {
				r.NICs = slices.Concat(pseudo, r.NICs)
			} else {
				r.NICs = slices.Concat(r.NICs, pseudo)
			}
			r.NICs = r.NICs[:min(len(r.NICs), mostNICs)]
			return r
		}, nil
	})
}

// pseudoNIC is the device of the i-th pod.
func pseudoNIC(i int) types.GuestNicInfo {
	a := netip.AddrFrom4([4]byte{10, 244, 0, byte(2 + i)})
	return types.GuestNicInfo{
		MacAddress: fmt.Sprintf("ee:ee:ee:ee:ee:%02x", i), Connected: true, DeviceConfigId: -1,
		IpAddress: []string{a.String()},
		IpConfig: &types.NetIpConfigInfo{IpAddress: []types.NetIpConfigInfoIpAddress{
			{IpAddress: a.String(), PrefixLength: 32, State: string(types.NetIpConfigInfoIpAddressStatusPreferred)},
		}},
	}
}
