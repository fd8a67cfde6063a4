package explain

import (
	"slices"
	"strings"
)

// uuid is that of the VM which the node is bound to, or says it runs on; how says which.
func (c Node) uuid() (uuid, how string) {
	id := c.ProviderID
	if n := c.Node.Is; n != nil {
		if id = n.Spec.ProviderID; id == "" {
			return n.Status.NodeInfo.SystemUUID, "system UUID"
		}
	}
	if rest, ours := strings.CutPrefix(id, "vsphere://"); ours {
		return rest, "providerID"
	}
	return "", "providerID"
}

// matches are the VMs that the provider would take for the node's (package provider, match.go), and by what: the UUID of
// its providerID alone, when it has one; else its system UUID, else its hostname.
func (c Node) matches() (list []Machine, by string) {
	uuid, how := c.uuid()
	var exact, swapped, name, short []Machine
	for _, m := range c.Machines {
		if same, other := sameUUID(uuid, m.UUID); same && !other {
			exact = append(exact, m)
		} else if same {
			swapped = append(swapped, m)
		}
		if exactly, shortly := m.named(c.Name); exactly {
			name = append(name, m)
		} else if shortly {
			short = append(short, m)
		}
	}
	bound := c.Node.Is != nil && c.Node.Is.Spec.ProviderID != ""
	switch {
	case len(exact) > 0:
		return alive(exact, c.Name), how + " " + uuid
	case len(swapped) > 0:
		return alive(swapped, c.Name), how + " " + uuid + " in the other byte order"
	case bound || c.Node.Is == nil && c.ProviderID != "":
		return nil, how + " " + c.providerID()
	case len(name) > 0:
		return withoutTemplates(name), "hostname " + c.Name
	}
	return withoutTemplates(short), "hostname " + c.Name
}

func (c Node) providerID() string {
	if c.Node.Is != nil {
		return c.Node.Is.Spec.ProviderID
	}
	return c.ProviderID
}

// alive prefers, of several VMs of one UUID, those that are connected, that are no templates, and that go by the name.
func alive(list []Machine, node string) []Machine {
	for _, wanted := range []func(Machine) bool{
		func(m Machine) bool { return m.Connection == "connected" },
		func(m Machine) bool { return !m.Template },
		func(m Machine) bool { exactly, _ := m.named(node); return exactly },
	} {
		if left := only(list, wanted); len(left) > 0 {
			list = left
		}
	}
	return list
}

func withoutTemplates(list []Machine) []Machine {
	return only(list, func(m Machine) bool { return !m.Template })
}

func only(list []Machine, wanted func(Machine) bool) []Machine {
	return slices.DeleteFunc(slices.Clone(list), func(m Machine) bool { return !wanted(m) })
}

// vm is the VM that it is, or is to be; nil when no vCenter has it.
func (c Node) vm() *Machine {
	if list, _ := c.matches(); len(list) > 0 {
		return &list[0]
	}
	if c.Node.Is != nil && c.Node.Is.Spec.ProviderID != "" {
		return nil
	}
	return c.behind()
}

// behind is the VM whose kubelet has the name, whatever the provider can see of it.
func (c Node) behind() *Machine {
	for _, m := range c.Machines {
		if m.id() == c.Bound {
			return &m
		}
	}
	return nil
}

// under is the VM that its kubelet runs in, whatever the provider takes for the node's; nil when it is gone.
func (c Node) under() *Machine {
	if m := c.behind(); m != nil || c.Bound != "" {
		return m
	}
	return c.vm()
}
