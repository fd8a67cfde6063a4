package explain

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// kept says why a node is still there whose VM is not: a Node is deleted when it is not Ready, and every vCenter that could
// have its VM has confirmed that it has none. There is no such question of any other node.
func (c Node) kept() (q question) {
	_, by := c.matches()
	if a := c.match(); a.Reason != match.NotFound || a.By != match.ByProviderID || c.uninitialized() {
		return q
	}
	q.Ask = "Why is it not deleted?"
	q.saw("vCenters", missing, "VM by "+by, "none")
	ready := c.condition().Status == corev1.ConditionTrue
	q.saw(apiServer, neither, "condition Ready", "%s", c.condition().Status)
	if ready {
		q.answer(event.Warning, "", "the CCM asks whether a VM exists when its node is not Ready, and it is")
	}
	if other, stale := c.elsewhere(); stale {
		q.saw(other.source(), wrong, "VM "+other.id(), "has the system UUID")
		q.answer(event.Warning, "kubectl delete node "+c.Name+", then restart its kubelet", "the CCM holds the deletion back: its kubelet runs on VM %s, which is not the one of its providerID", other.id())
	}
	c.sawCCM(&q)
	for _, vc := range c.VCenters {
		if _, configured := c.configured(vc); c.Config.Is != nil && !configured {
			continue
		}
		why, e := c.connected(vc)
		if why == "" {
			q.saw(sandbox, fine, "vCenter "+vc.Name, "%s", c.answers()+gateText(vc))
			c.sawNames(&q, vc)
			if hides := c.hides(vc); hides != "" {
				q.answer(event.Warning, "", "the CCM holds the deletion back, since its VM may be in a datacenter that is named and not found%s", hides)
			}
			continue
		}
		q.saw(sandbox, wrong, "vCenter "+vc.Name, "%s", why)
		q.because(c.Around, e)
		q.answer(event.Warning, mend(vc), "the CCM deletes a node when every vCenter has confirmed that its VM is gone, and it cannot ask vCenter %s: %s%s", vc.Name, why, c.who(e))
	}
	if said := c.saidByCCM(&q); said.Level == event.Warning && said.Kind != "ccm.vm-not-found" {
		q.answer(event.Warning, "vsphere-sandbox logs ccm", "the CCM says: %s", said.Message)
	}
	q.answer(event.Warning, "vsphere-sandbox logs ccm", "nothing known keeps it: the CCM deletes it at its next check")
	return q
}
