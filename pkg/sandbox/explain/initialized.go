package explain

import (
	"cmp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// initialized says whether the CCM has taken the node in, and what keeps it from that: the way from the CCM over its
// configuration and every vCenter to the VM.
func (c Node) initialized() (q question) {
	if q.Ask = "Why is it not initialized?"; !c.uninitialized() {
		q.Ask = "Is it initialized?"
		q.saw(apiServer, verdictOf(c.providerID() != ""), "providerID", "%s", cmp.Or(c.providerID(), "none"))
		e := c.newest(func(e event.Event) bool {
			return ofNode(c.Name)(e) && e.Kind == "node.untainted" && strings.Contains(e.Message, "uninitialized")
		})
		q.because(c.Around, e)
		if m := c.vm(); m != nil {
			if vc, ok := c.vcenter(m.VCenter); ok {
				c.sawNames(&q, vc)
			}
			if outside := c.outside(*m); outside != "" {
				q.saw(cloudConfig, missing, "datacenter "+m.Datacenter, "not among those of vCenter %s", m.VCenter)
				q.answer(event.Warning, "", "yes, but the CCM does not find its VM any more: VM %s %s", m.id(), outside)
			}
		}
		if said := c.saidByCCM(&q); said.Level == event.Warning {
			q.answer(event.Warning, "vsphere-sandbox logs ccm", "yes, but the CCM says: %s", said.Message)
		}
		if c.providerID() == "" {
			q.answer(event.Warning, "", "the uninitialized taint is gone, and there is no providerID: no cloud controller manager has taken it away")
		}
		q.answer(event.Info, "", "yes: the CCM found its VM and took the uninitialized taint away")
		return q
	}
	q.saw(apiServer, missing, "taint uninitialized", "still there: the CCM has not taken it away")
	c.sawCCM(&q)
	c.sawConfig(&q)
	a := c.match()
	if id := c.providerID(); a.Reason == match.Foreign {
		q.saw(apiServer, wrong, "providerID", "%s", id)
		q.answer(event.Error, "kubectl delete node "+c.Name+", then restart its kubelet", "its providerID is another provider's, and the CCM leaves the node alone: %s", id)
	}
	list, by := c.matches()
	c.sawVCenters(&q, len(list) == 0)
	if a.Reason == match.Unsure {
		q.answer(event.Warning, "", "not known: vCenter %s cannot be asked, and may have its VM", c.anyUnasked())
	}
	c.sawMatches(&q, list, by)
	if a.Reason == match.Found {
		c.suits(&q, list[0])
	}
	said := c.saidByCCM(&q)
	if said.Kind == "ccm.vm-not-found" && len(list) == 1 {
		q.answer(event.Error, "vsphere-sandbox logs ccm", "the CCM does not find VM %s, which vCenter %s shows to an administrator: the CCM's account may not see it", list[0].id(), list[0].VCenter)
	}
	if said.Level == event.Warning {
		q.answer(event.Error, "vsphere-sandbox logs ccm", "the CCM says: %s", said.Message)
	}
	if c.Config.Err != nil {
		q.answer(event.Error, c.validate(), "the cloud-config cannot be read: %v", c.Config.Err)
	}
	if c.SharedCluster && len(c.CCM) == 0 {
		q.answer(event.Warning, "vsphere-sandbox kubectl get pods -A", "nothing known prevents it: if the cluster has a CCM, its log says why; none of the sandbox's runs")
	}
	q.answer(event.Warning, "vsphere-sandbox logs ccm", notReached)
	return q
}

// sawMatches looks at the VMs that answer to the node.
func (c Node) sawMatches(q *question, list []VMState, by string) {
	q.saw("vCenters", map[int]string{0: missing, 1: fine}[min(len(list), 2)], "VM by "+by, "%s", cmp.Or(and(ids(list), "and"), "none"))
	switch len(list) {
	case 1:
		return
	case 0:
		if m := c.behind(); m != nil {
			q.saw(m.source(), wrong, "VM "+m.id()+", whose kubelet it is", "UUID %s, reports %s", cmp.Or(m.UUID, "none"), m.reports())
			q.answer(event.Error, "", "no VM has the %s of the node: VM %s, whose kubelet it is, has UUID %s and reports %s", by, m.id(), cmp.Or(m.UUID, "none"), m.reports())
		}
		q.answer(event.Error, "", "no vCenter has a VM of %s", by)
	default:
		q.Evidence[len(q.Evidence)-1].Verdict = wrong
		q.answer(event.Error, "", "%s VMs answer to %s, and the CCM takes none rather than the wrong one: %s", count(len(list)), by, and(ids(list), "and"))
	}
}

// outside describes that a VM is in a datacenter that the cloud-config does not name; "" if it does.
func (a Around) outside(m VMState) string {
	vc, ok := a.vcenter(m.VCenter)
	if !ok {
		return ""
	}
	of, configured := a.configured(vc)
	if !configured || m.Datacenter == "" || m.within(of.Datacenters) {
		return ""
	}
	return "lies in datacenter " + m.Datacenter + ", and the cloud-config names only " + strings.Join(of.Datacenters, ", ") + a.hides(vc)
}

// suits looks whether a VM is one that a node can be initialized with.
func (c Node) suits(q *question, m VMState) {
	if vc, ok := c.vcenter(m.VCenter); ok {
		of, configured := c.configured(vc)
		why, e := c.connected(vc)
		switch {
		case c.Config.Is != nil && !configured:
			q.answer(event.Error, "", "its VM %s is in vCenter %s, which the cloud-config does not name", m.id(), vc.Name)
		case why != "":
			q.answer(event.Error, mend(vc), "the CCM cannot ask vCenter %s, which has its VM: %s%s", vc.Name, why, c.who(e))
		case !m.within(of.Datacenters):
			q.saw(cloudConfig, missing, "datacenter "+m.Datacenter, "not among %s", strings.Join(of.Datacenters, ", "))
			q.answer(event.Error, "", "its VM %s %s", m.id(), c.outside(m))
		}
	}
	silent := m.Hostname == "" || len(m.Addresses) == 0
	q.saw(m.source(), verdictOf(!silent), "guest of VM "+m.id(), "reports %s", m.reports())
	switch {
	case m.Template:
		q.answer(event.Error, "", "its VM %s is a template", m.id())
	case m.Power != "on":
		q.answer(event.Error, "vsphere-sandbox vm power-on "+m.Name, "its VM %s is %s, and reports no addresses", m.id(), m.power())
	case silent:
		q.answer(event.Error, "", "the guest of its VM %s does not report what the CCM needs: %s", m.id(), m.reports())
	}
	if labels := c.labels(); labels.Region != "" && labels.Zone != "" {
		if p := place(m, labels); m.TagsErr == nil && !p.found {
			q.saw(m.source(), missing, "tags of region and zone", "%s", lacking(p, labels))
			q.answer(event.Error, "", "the cloud-config wants region and zone, and its VM %s has %s", m.id(), lacking(p, labels))
		}
	}
}

// saidByCCM adds the last that the CCM said of the node, in an event, else in its log.
func (c Node) saidByCCM(q *question) event.Event {
	e := c.newest(func(e event.Event) bool { return strings.HasPrefix(e.Kind, "ccm.") && ofNode(c.Name)(e) })
	if e.Seq != 0 {
		verdict := wrong
		if e.Level != event.Warning {
			verdict = neither
		}
		q.saw(eventLog, verdict, "the CCM at "+c.clock(e.Time), "%s", e.Message)
		q.Evidence[len(q.Evidence)-1].Event = e.Seq
		return e
	}
	if n := len(c.CCMLog); n > 0 {
		q.saw(logOfCCM, neither, "its last line about it", "%s", c.CCMLog[n-1])
	}
	return e
}

// notReached is the answer about a node that is not initialized for no reason that is found.
const notReached = "nothing known prevents it: the CCM has not reached it yet, or its log says why"
