package guest

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
)

// named returns a kind whose guests report another hostname; other returns it, or an error.
func named(k fault.Kind, other func(c *fault.Call, name string) (string, error)) *fault.Kind {
	k.Aspect = touchesHostname
	return rewrite(k, func(c *fault.Call, vm *vms.VM, info guest.Info) (string, change, error) {
		if info.HostName == "" {
			return "", nil, fault.Refuse("vm %s: its guest has no hostname", vm.Name)
		}
		name, err := other(c, info.HostName)
		if err != nil {
			return "", nil, err
		}
		if name == info.HostName {
			return "", nil, fault.Refuse("vm %s: its guest's hostname is %q already", vm.Name, name)
		}
		return fmt.Sprintf("report hostname %q (is %q)", name, info.HostName), func(r guest.Report) guest.Report {
			if r.Tools {
				r.HostName = name
			}
			return r
		}, nil
	})
}

func hostnameEmpty() *fault.Kind {
	return named(fault.Kind{
		Name: "guest.hostname-empty", Short: "has guests report no hostname",
		Long: "Addresses are reported as before. Talos' tools never report a name, others late. A provider that looks for nodes by " +
			"name finds none; nor may it take an empty name for one.",
		Reported: []string{"cloud-provider-vsphere#381", "talos-vmtoolsd#11"},
	}, func(*fault.Call, string) (string, error) { return "", nil })
}

func hostnameCase() *fault.Kind {
	return named(fault.Kind{
		Name: "guest.hostname-case", Short: "has guests report their hostname in upper case",
		Long:     "As Windows does, where nodes are in lower case. vCenter's search does not tell the two apart, and providers must not.",
		Reported: []string{"cloud-provider-vsphere#484"},
	}, func(_ *fault.Call, name string) (string, error) { return strings.ToUpper(name), nil })
}

func hostnameFQDN() *fault.Kind {
	return named(fault.Kind{
		Name: "guest.hostname-fqdn", Short: "has guests report their hostname with a domain",
		Long:     "The node is called without it.",
		Params:   []fault.Param{{Name: "domain", Short: "the domain", Type: fault.Text, Default: "cluster.example.org"}},
		Reported: []string{"cloud-provider-vsphere#285"},
	}, func(c *fault.Call, name string) (string, error) {
		domain := strings.Trim(c.Params.Text("domain"), ".")
		if domain == "" {
			return "", invalid("domain: is empty")
		}
		if strings.Contains(name, ".") {
			return "", fault.Refuse("hostname %q: has a domain already", name)
		}
		return name + "." + domain, nil
	})
}

func hostnameShort() *fault.Kind {
	return named(fault.Kind{
		Name: "guest.hostname-short", Short: "has guests report their hostname without its domain",
		Long:     "The node is called with it. Refused where the hostname has no domain.",
		Reported: []string{"cloud-provider-vsphere#285"},
	}, func(_ *fault.Call, name string) (string, error) {
		short, _, ok := strings.Cut(name, ".")
		if !ok {
			return "", fault.Refuse("hostname %q: has no domain", name)
		}
		return short, nil
	})
}

func hostnameWrong() *fault.Kind {
	return named(fault.Kind{
		Name: "guest.hostname-wrong", Short: "has guests report another hostname",
		Long:     "One of many nodes never gets its provider ID, because it is called other than its VM's guest says.",
		Params:   []fault.Param{{Name: "name", Short: "the hostname", Type: fault.Text, Default: "localhost"}},
		Reported: []string{"cloud-provider-vsphere#326"},
	}, func(c *fault.Call, _ string) (string, error) {
		if c.Params.Text("name") == "" {
			return "", invalid("name: is empty; guest.hostname-empty does that")
		}
		return c.Params.Text("name"), nil
	})
}

func toolsStopped() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.tools-stopped", Aspect: touchesTools,
		Short: "stops VMware Tools: hostname, addresses and heartbeat vanish",
		Long: "The guest runs on, and so does its node; vSphere has nothing to say of it but that it is powered on. " +
			"The addresses of a node must not vanish with it, and it must not be deleted. Healing starts the tools.",
		Reported: []string{"cloud-provider-vsphere#398", "cloud-provider-vsphere#383", "cloud-provider-vsphere#202"},
	}, func(_ *fault.Call, _ *vms.VM, _ guest.Info) (string, change, error) {
		return "stop VMware Tools", func(guest.Report) guest.Report { return guest.Report{} }, nil
	})
}

func nicInfoEmpty() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.nic-info-empty", Aspect: touchesAddresses,
		Short: "empties the list of NICs (guest.net), with the hostname still there",
		Long: "VMware Tools run and tell the hostname and one address (guest.ipAddress), but no NICs, as seen on Windows. " +
			"A node that registers during that time keeps its taint until the NICs are reported.",
		Reported: []string{"cloud-provider-vsphere#772"},
	}, func(_ *fault.Call, _ *vms.VM, _ guest.Info) (string, change, error) {
		return "report no NICs", func(r guest.Report) guest.Report {
			r.NICs = nil
			return r
		}, nil
	})
}

// nothing is the state of a fault that lives in the simulator.
type nothing struct{}

// change rewrites a report.
type change func(guest.Report) guest.Report

// rewrite returns a kind that rewrites what guests report. Prepare plans it for a running VM with the guest info; it is called
// again when the fault is applied.
func rewrite(k fault.Kind, prepare func(c *fault.Call, vm *vms.VM, info guest.Info) (does string, f change, err error)) *fault.Kind {
	k.Object, k.Needs = fault.VM, []fault.Need{fault.Simulator}
	plan := func(ctx context.Context, c *fault.Call) (does string, f change, err error) {
		ep, err := vms.Endpoint(c)
		if err != nil {
			return "", nil, err
		}
		err = vms.On(ctx, c, func(_ context.Context, vm *vms.VM) error {
			if err := vm.Running(); err != nil {
				return err
			}
			info, _ := ep.Sim.Guest(vm.Reference())
			if info.NoTools || info.HostName == "" && len(info.Addresses) == 0 {
				return fault.Refuse("vm %s: has no guest that reports anything", vm.Name)
			}
			does, f, err = prepare(c, vm, info)
			return err
		})
		return does, f, err
	}
	return fault.New(k, fault.Steps[nothing]{
		Plan: func(ctx context.Context, c *fault.Call) (nothing, string, error) {
			does, _, err := plan(ctx, c)
			return nothing{}, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			_, f, err := plan(ctx, c)
			if err != nil {
				return err
			}
			return override(c, k.Name, f)
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error { return release(c, k.Name) },
	})
}

// override starts rewriting reports with f.
func override(c *fault.Call, kind string, f change) error {
	ep, err := vms.Endpoint(c)
	if err != nil {
		return err
	}
	defer vms.Causing(ep, c, c.Target.Ref)()
	return ep.Sim.Guests().Override(c.Target.Ref, vms.LeaseName(c, kind), f)
}

// release stops rewriting.
func release(c *fault.Call, kind string) error {
	ep, err := vms.Endpoint(c)
	if err != nil {
		return err
	}
	defer vms.Causing(ep, c, c.Target.Ref)()
	ep.Sim.Guests().Release(c.Target.Ref, vms.LeaseName(c, kind))
	return nil
}

func invalid(message string) error { return &fault.Refusal{Code: "invalid", Message: message} }

func nicOrder() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.nic-order", Aspect: touchesAddresses,
		Short: "has guests report their second NIC first",
		Long: "Devices of the VM stay as they are. The address that vSphere shows (guest.ipAddress) is now that of the second NIC: " +
			"who takes the first address that there is gets one of another network. Refused for VMs with one NIC.",
		Reported: []string{"cloud-provider-vsphere#270", "cloud-provider-vsphere#1455"},
	}, func(_ *fault.Call, vm *vms.VM, _ guest.Info) (string, change, error) {
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

// mostNICs is the default limit of NICs that VMware Tools report.
const mostNICs = 16

func pseudoNICs() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.pseudo-nics", Aspect: touchesAddresses,
		Short: "has guests report the network devices of containers, too",
		Long: "Each pod has a device on its node, and VMware Tools report those as well: without a network, with -1 as their device " +
			"(deviceConfigId), and with addresses of the pods. They report 16 NICs at most: with enough pseudo NICs before " +
			"the real ones, those are not reported at all, and the node loses its addresses.",
		Params: []fault.Param{
			{Name: "count", Short: "how many", Type: fault.Number, Default: "20"},
			{Name: "place", Short: "before or after the real ones", Type: fault.Text, Default: "before", Choices: []string{"before", "after"}},
		},
		Reported: []string{"cloud-provider-vsphere#338"},
	}, func(c *fault.Call, _ *vms.VM, _ guest.Info) (string, change, error) {
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

// pseudoNIC returns the NIC of the i-th pod.
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
