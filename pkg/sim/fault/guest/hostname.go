package guest

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
)

// named is a kind whose guests report another hostname; other returns it, or why there is none.
func named(k fault.Kind, other func(c *fault.Call, name string) (string, error)) *fault.Kind {
	k.Touches = touchesHostname
	return rewrite(k, func(c *fault.Call, vm *machine.VM, info guest.Info) (string, change, error) {
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
		Long: "Addresses are told as before. Talos' tools never report a name, others late. A provider that looks for nodes by " +
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
