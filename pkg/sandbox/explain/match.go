package explain

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
)

// facts are what identifies its VM.
func (c Node) facts() match.Node {
	if c.Node.Is != nil {
		return kubenode.Facts(c.Node.Is)
	}
	return match.Node{Name: c.Name, ProviderID: c.ProviderID}
}

func (c Node) index() match.List[VMState] {
	l := match.List[VMState]{VMs: c.VMs}
	for _, vc := range c.VCenters {
		if vc.Err != nil {
			l.Doubt = vc.Err
		}
	}
	return l
}

// match is which VM the provider takes for the node's, and why.
func (c Node) match() match.Answer[VMState] {
	return match.Find(c.facts(), c.index(), match.Behavior{})
}

// elsewhere is the VM of its system UUID where that is not the one of its providerID.
func (c Node) elsewhere() (m VMState, ok bool) {
	bound, err := match.ParseProviderID(c.providerID())
	if err == nil {
		m, ok, _ = match.FindDifferent(c.facts(), bound, c.index(), match.Behavior{})
	}
	return m, ok
}

// matches are the VMs that match the node, and by what: one when it is found, several when the provider takes none of them.
func (c Node) matches() (list []VMState, by string) {
	a := c.match()
	list, by = a.VMs, string(a.By)+" "+a.Key
	if a.Reason == match.Found {
		list = []VMState{a.VM}
	}
	if u, err := match.ParseProviderID(a.Key); err == nil && len(list) > 0 {
		by = string(a.By) + " " + u.String()
	}
	if a.Swapped {
		by += " in the other byte order"
	}
	return list, by
}

func (c Node) providerID() string { return c.facts().ProviderID }

func only(list []VMState, wanted func(VMState) bool) []VMState {
	return slices.DeleteFunc(slices.Clone(list), func(m VMState) bool { return !wanted(m) })
}

// vm is the VM that it is, or should be; nil when no vCenter has it.
func (c Node) vm() *VMState {
	if list, _ := c.matches(); len(list) > 0 {
		return &list[0]
	}
	if c.Node.Is != nil && c.Node.Is.Spec.ProviderID != "" {
		return nil
	}
	return c.behind()
}

// behind is the VM whose kubelet has the name, also when the provider cannot find it.
func (c Node) behind() *VMState {
	for _, m := range c.VMs {
		if m.id() == c.Bound {
			return &m
		}
	}
	return nil
}

// under is the VM that its kubelet runs in, also when the provider finds another; nil when it is gone.
func (c Node) under() *VMState {
	if m := c.behind(); m != nil || c.Bound != "" {
		return m
	}
	return c.vm()
}
