package guest

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
)

func ipRemoved() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.ip-removed", Aspect: touchesAddresses,
		Short:    "has guests report no addresses, or none of one family",
		Long:     "The NICs are there. A node that has addresses keeps them, or gets new ones; one that has none yet waits.",
		Params:   []fault.Param{{Name: "family", Short: "which addresses", Type: fault.Text, Default: "all", Choices: []string{"all", "ipv4", "ipv6"}}},
		Reported: []string{"cloud-provider-vsphere#398", "cloud-provider-vsphere#302"},
	}, func(c *fault.Call, vm *vms.VM, info guest.Info) (string, change, error) {
		family := c.Params.Text("family")
		gone := map[string]func(netip.Addr) bool{"all": every, "ipv4": netip.Addr.Is4, "ipv6": netip.Addr.Is6}[family]
		if !has(info, gone) {
			return "", nil, fault.Refuse("vm %s: its guest has no such address (%s)", vm.Name, family)
		}
		return "report no addresses (" + family + ")", func(r guest.Report) guest.Report {
			return readdressed(r, func(_ int, _ string, now []netip.Prefix) (left []netip.Prefix) {
				for _, p := range now {
					if !gone(p.Addr()) {
						left = append(left, p)
					}
				}
				return left
			})
		}, nil
	})
}

func ipv6Only() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.ipv6-only", Aspect: touchesAddresses,
		Short: "has guests report IPv6 addresses alone",
		Long: "IPv4 addresses vanish; a NIC that has no IPv6 address gets one, made of its IPv4 address (fd00::10.0.0.1). " +
			"Providers that are configured for IPv4 find no address, and must report that.",
		Reported: []string{"cloud-provider-vsphere#302", "cloud-provider-vsphere#312"},
	}, func(_ *fault.Call, vm *vms.VM, info guest.Info) (string, change, error) {
		if !has(info, netip.Addr.Is4) {
			return "", nil, fault.Refuse("vm %s: its guest has no IPv4 address", vm.Name)
		}
		return "report IPv6 addresses alone", func(r guest.Report) guest.Report {
			return readdressed(r, func(_ int, _ string, now []netip.Prefix) []netip.Prefix {
				var six, made []netip.Prefix
				for _, p := range now {
					if p.Addr().Is6() {
						six = append(six, p)
						continue
					}
					four := p.Addr().As4()
					a := netip.AddrFrom16([16]byte{0: 0xfd, 12: four[0], 13: four[1], 14: four[2], 15: four[3]})
					made = append(made, netip.PrefixFrom(a, 64))
				}
				if len(six) == 0 {
					return made
				}
				return six
			})
		}, nil
	})
}

func linkLocalOnly() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.link-local-only", Aspect: touchesAddresses,
		Short: "has guests report link-local addresses alone, as when DHCP does not answer",
		Long:  "Every NIC has one of 169.254.0.0/16 and one of fe80::/64, which are of no use to anybody: a provider must not give them to a node.",
	}, func(_ *fault.Call, vm *vms.VM, info guest.Info) (string, change, error) {
		if !has(info, every) {
			return "", nil, fault.Refuse("vm %s: its guest has no addresses", vm.Name)
		}
		return "report link-local addresses alone", func(r guest.Report) guest.Report {
			return readdressed(r, func(i int, mac string, _ []netip.Prefix) []netip.Prefix {
				return linkLocal(i, mac)
			})
		}, nil
	})
}

// linkLocal returns the address that a NIC assigns itself, derived from its MAC address (RFC 4291).
func linkLocal(i int, mac string) []netip.Prefix {
	var m [6]byte
	if _, err := fmt.Sscanf(mac, "%02x:%02x:%02x:%02x:%02x:%02x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]); err != nil {
		m = [6]byte{5: byte(i)}
	}
	return []netip.Prefix{
		netip.PrefixFrom(netip.AddrFrom4([4]byte{169, 254, 1 + m[4]%254, m[5]}), 16),
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5]}), 64),
	}
}

// lent are the replacement addresses of a guest.
type lent struct {
	Addresses map[netip.Addr]netip.Addr `json:"addresses,omitempty"`
}

func ipChanged() *fault.Kind {
	const name = "guest.ip-changed"
	plan := func(ctx context.Context, c *fault.Call) (to netip.Addr, does string, err error) {
		ep, err := vms.Endpoint(c)
		if err != nil {
			return to, "", err
		}
		does = "give it other addresses"
		if text := c.Params.Text("to"); text != "" {
			if to, err = netip.ParseAddr(text); err != nil {
				return to, "", invalid(fmt.Sprintf("to: %q is no IP address", text))
			}
			does = "give it address " + to.String()
		}
		return to, does, vms.On(ctx, c, func(_ context.Context, vm *vms.VM) error {
			if err := vm.Running(); err != nil {
				return err
			}
			info, _ := ep.Sim.Guest(vm.Reference())
			if !has(info, func(a netip.Addr) bool { return !to.IsValid() || a.Is4() == to.Is4() }) {
				return fault.Refuse("vm %s: its guest has no address that could change", vm.Name)
			}
			return nil
		})
	}
	return fault.New(fault.Kind{
		Name: name, Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Aspect: touchesAddresses,
		Short: "gives guests other addresses, as DHCP may",
		Long: "Each address becomes a free one of the same network, or the first of its family the one that is said. " +
			"The node's addresses in Kubernetes have to follow. Healing gives the old ones back.",
		Params: []fault.Param{{Name: "to", Short: "the new address; none: free ones of the same networks", Type: fault.Text}},
	}, fault.Steps[lent]{
		Plan: func(ctx context.Context, c *fault.Call) (lent, string, error) {
			_, does, err := plan(ctx, c)
			return lent{}, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *lent) error {
			to, _, err := plan(ctx, c)
			if err != nil {
				return err
			}
			if !to.IsValid() {
				ep, err := vms.Endpoint(c)
				if err != nil {
					return err
				}
				s.Addresses = ep.Sim.Guests().ReserveAddresses(c.Target.Ref, vms.LeaseName(c, name))
				if len(s.Addresses) == 0 {
					return fault.Refuse("vm %s: its networks have no free address", c.Target.Name)
				}
			}
			return override(c, name, exchange(s.Addresses, to))
		},
		Revert: func(_ context.Context, c *fault.Call, _ *lent) error { return release(c, name) },
	})
}

// exchange replaces the addresses of a guest: by those of the table, or by the first of a family.
func exchange(table map[netip.Addr]netip.Addr, to netip.Addr) change {
	return func(r guest.Report) guest.Report {
		done := !to.IsValid()
		return readdressed(r, func(_ int, _ string, now []netip.Prefix) []netip.Prefix {
			for i, p := range now {
				if a, ok := table[p.Addr()]; ok {
					now[i] = netip.PrefixFrom(a, p.Bits())
				} else if !done && p.Addr().Is4() == to.Is4() {
					now[i], done = netip.PrefixFrom(to, p.Bits()), true
				}
			}
			return now
		})
	}
}

// readdressed returns the report with the addresses that f returns for each NIC.
func readdressed(r guest.Report, f func(nic int, mac string, now []netip.Prefix) []netip.Prefix) guest.Report {
	r.NICs = slices.Clone(r.NICs)
	for i, nic := range r.NICs {
		next := f(i, nic.MacAddress, prefixes(nic))
		nic.IpAddress, nic.IpConfig = nil, nil
		if len(next) > 0 {
			nic.IpConfig = new(types.NetIpConfigInfo)
		}
		for _, p := range next {
			nic.IpAddress = append(nic.IpAddress, p.Addr().String())
			nic.IpConfig.IpAddress = append(nic.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{
				IpAddress: p.Addr().String(), PrefixLength: int32(p.Bits()), State: string(types.NetIpConfigInfoIpAddressStatusPreferred),
			})
		}
		r.NICs[i] = nic
	}
	r.Address = r.Primary()
	return r
}

func prefixes(nic types.GuestNicInfo) []netip.Prefix {
	var all []netip.Prefix
	if nic.IpConfig == nil {
		return nil
	}
	for _, a := range nic.IpConfig.IpAddress {
		if ip, err := netip.ParseAddr(a.IpAddress); err == nil {
			all = append(all, netip.PrefixFrom(ip, int(a.PrefixLength)))
		}
	}
	return all
}

// has reports whether a guest has an address that fits.
func has(info guest.Info, fits func(netip.Addr) bool) bool {
	for _, list := range info.Addresses {
		if slices.ContainsFunc(list, func(p netip.Prefix) bool { return fits(p.Addr()) }) {
			return true
		}
	}
	return false
}

func every(netip.Addr) bool { return true }
