package explain

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// instance says which VM the node is, and whether both planes agree about that.
func (c Node) instance() (q question) {
	n := c.Node.Is
	q.Ask = "Which VM is it?"
	q.saw(apiServer, neither, "providerID", "%s", cmp.Or(n.Spec.ProviderID, "none yet"))
	system := n.Status.NodeInfo.SystemUUID
	q.saw(apiServer, neither, "system UUID, which its kubelet says", "%s", cmp.Or(system, "none"))
	a := c.match()
	list, by := c.matches()
	for _, m := range list {
		q.saw(m.source(), neither, "VM "+m.id(), "UUID %s, %s, in %s", cmp.Or(m.UUID, "none"), m.power(), m.Path)
	}
	own, err := match.ParseUUID(system)
	others := only(c.VMs, func(m VMState) bool {
		return err == nil && own.Equal(m.Facts().UUID) && !slices.Contains(ids(list), m.id())
	})
	too := ""
	if len(list) > 0 {
		too = ", too"
	}
	for _, m := range others {
		q.saw(m.source(), wrong, "VM "+m.id(), "has the system UUID%s", too)
	}
	named := only(c.VMs, func(m VMState) bool {
		exactly, _ := match.SameHostName(m.Hostname, c.Name)
		return exactly && !slices.Contains(ids(list), m.id()) && !slices.Contains(ids(others), m.id())
	})
	for _, m := range named {
		q.saw(m.source(), wrong, "VM "+m.id(), "its guest says that it is %s%s; its UUID is %s", c.Name, too, cmp.Or(m.UUID, "none"))
	}
	other, stale := c.elsewhere()
	register := "kubectl delete node " + c.Name + ", then restart its kubelet"
	switch {
	case a.Reason == match.Foreign:
		q.answer(event.Error, register, "none of vSphere: its providerID is another provider's: %s", n.Spec.ProviderID)
	case a.Reason == match.Invalid:
		q.answer(event.Error, register, "none: its providerID holds no UUID: %s; a providerID cannot be changed", n.Spec.ProviderID)
	case stale:
		q.answer(event.Error, register, "its providerID is that of another VM than the one its kubelet runs on: %s and %s; a providerID cannot be changed", n.Spec.ProviderID, other.UUID)
	case a.Reason == match.Ambiguous:
		q.answer(event.Error, "", "%s VMs are of %s, and the CCM takes none: %s", count(len(list)), by, and(ids(list), "and"))
	case a.Reason == match.Unsure && len(list) > 0:
		q.answer(event.Warning, "", "not known: VM %s is of %s, and so may be one of vCenter %s, which cannot be asked", and(ids(list), "and"), by, c.anyUnasked())
	case a.Reason == match.Unsure:
		q.answer(event.Warning, "", "not known: no VM of %s is found, and vCenter %s cannot be asked", by, c.anyUnasked())
	case len(list) == 0 && c.behind() != nil:
		m := c.behind()
		q.answer(event.Error, "", "no vCenter has a VM of %s: VM %s, which its kubelet runs in, has UUID %s", by, m.id(), cmp.Or(m.UUID, "none"))
	case len(list) == 0:
		q.answer(event.Error, "", "none: no vCenter has a VM of %s", by)
	case len(named) > 0:
		q.answer(event.Warning, "", "VM %s, by %s; the guest of %s goes by its name, too", list[0].id(), by, and(ids(named), "and"))
	case len(others) > 0:
		q.answer(event.Warning, "", "VM %s, by %s; %s has its UUID, too", list[0].id(), by, and(ids(others), "and"))
	}
	if len(list) > 0 {
		m := list[0]
		if exactly, shortly := match.SameHostName(m.Hostname, c.Name); m.Hostname != "" && !exactly && !shortly {
			q.saw(m.source(), wrong, "guest of VM "+m.id(), "says that it is %s", m.Hostname)
			q.answer(event.Warning, "", "VM %s, by %s; but its guest says that it is %s", m.id(), by, m.Hostname)
		}
		q.answer(event.Info, "", "VM %s, by its %s", list[0].id(), by)
	}
	return q
}

// anyUnasked names a vCenter that could not be asked.
func (a Around) anyUnasked() string {
	for _, vc := range a.VCenters {
		if vc.Err != nil {
			return vc.Name
		}
	}
	return ""
}

// addresses says where the addresses of the node come from, and whether they are its VM's still.
func (c Node) addresses() (q question) {
	q.Ask = "Where do its addresses come from?"
	var has []string
	for _, a := range c.Node.Is.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			if !slices.Contains(has, a.Address) {
				has = append(has, a.Address)
			}
		}
	}
	verdict := fine
	if len(has) == 0 {
		verdict = missing
	}
	q.saw(apiServer, verdict, "InternalIP and ExternalIP", "%s", cmp.Or(strings.Join(has, ", "), "none"))
	m := c.vm()
	if m == nil {
		if len(has) > 0 {
			q.answer(event.Info, "", "they stay as they were reported last: there is no VM to ask about")
		}
		q.answer(event.Error, "", "it has none, and no VM that could tell them")
		return q
	}
	silent := len(m.Addresses) == 0
	q.saw(m.source(), m.expected(!silent), "guest of VM "+m.id(), "reports %s", m.reports())
	if e := c.doubtful(); e.Seq != 0 {
		q.because(c.Around, e)
		if e.Level == event.Warning {
			q.answer(event.Warning, "", "the CCM says: %s", e.Message)
		}
	}
	var stale []string
	for _, a := range has {
		if !slices.Contains(m.Addresses, a) {
			stale = append(stale, a)
		}
	}
	switch {
	case len(has) == 0 && c.uninitialized():
		q.answer(event.Warning, "", "it has none yet: the CCM sets them when it initializes the node")
	case len(has) == 0:
		q.answer(event.Error, "", "it has none: the guest of VM %s reports %s", m.id(), m.reports())
	case silent:
		q.answer(event.Info, "", "they stay as the guest of VM %s reported them last: it reports none now", m.id())
	case len(stale) > 0 && c.uninitialized():
		q.answer(event.Info, "", "from the kubelet: the CCM has not set any yet")
	case len(stale) > 0:
		e := c.newest(func(e event.Event) bool {
			return ofVM(m.VCenter, m.Name)(e) && strings.HasPrefix(e.Kind, "guest.")
		})
		q.because(c.Around, e)
		q.answer(event.Warning, "", "the guest of VM %s does not report %s any more, but %s: the CCM has not followed, or may not%s", m.id(), and(stale, "or"), strings.Join(m.Addresses, ", "), c.who(e))
	}
	q.answer(event.Info, "", "the CCM copies them from what the guest of VM %s reports", m.id())
	return q
}

// doubtful returns the CCM's newest event about addresses or a hostname that may not be the VM's own, if none about the node is
// newer.
func (c Node) doubtful() event.Event {
	e := c.newest(func(e event.Event) bool { return strings.HasPrefix(e.Kind, "ccm.") && ofNode(c.Name)(e) })
	switch e.Kind {
	case "ccm.virtual-address", "ccm.address-shared", "ccm.guest-host-name-shared", "ccm.guest-host-name-local":
		return e
	}
	return event.Event{}
}
