package explain

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// absent says why there is no node of that name: that it was deleted, or that it has never come to be.
func (c Node) absent() (q question) {
	q.saw(apiServer, missing, "Node "+c.Name, "does not exist")
	deleted := c.newestOf(ofNode(c.Name), "node.deleted")
	if deleted.Seq > c.newestOf(ofNode(c.Name), "node.registered").Seq {
		c.deleted(&q, deleted)
		return q
	}
	q.Ask = "Why is there no such node?"
	c.unborn(&q)
	return q
}

// deleted answers who deleted the Node object, with the calls of the CCM before and their answers.
func (c Node) deleted(q *question, e event.Event) {
	q.Ask = "Why was it deleted?"
	q.because(c.Around, e)
	// What was before it registered, or before all was well with it, is another story.
	since := c.newestOf(ofNode(c.Name), "node.registered", "ccm.node-well").Seq
	said := func(kinds ...string) event.Event {
		return c.newestOf(func(e event.Event) bool { return e.Seq > since && ofNode(c.Name)(e) }, kinds...)
	}
	asked := said("ccm.vm-not-found", "ccm.deletion-held-back")
	if asked.Seq != 0 {
		q.saw(eventLog, neither, "the CCM at "+c.clock(asked.Time), "%s", asked.Message)
		q.Evidence[len(q.Evidence)-1].Event = asked.Seq
	}
	gone := said("ccm.vm-gone")
	if gone.Seq != 0 {
		q.saw(eventLog, missing, "the CCM at "+c.clock(gone.Time), "%s", gone.Message)
		q.Evidence[len(q.Evidence)-1].Event = gone.Seq
	}
	if gone.Seq != 0 {
		c.sawCalls(q, e)
	}
	if n := len(c.CCMLog); n > 0 {
		q.saw(logOfCCM, neither, "its last line about it", "%s", c.CCMLog[n-1])
	}
	list, by := c.matches()
	switch {
	case len(list) > 0:
		q.saw(list[0].source(), wrong, "VM by "+by, "%s is there, %s", list[0].id(), list[0].power())
	case c.anyUnasked() != "":
		q.saw("vCenter "+c.anyUnasked(), unknown, "VM by "+by, "it cannot be asked")
	default:
		q.saw("vCenters", missing, "VM by "+by, "none, now")
	}
	first := c.chain(e)[0]
	removed := c.newestOf(ofNode(c.Name), "node.removed")
	switch {
	case strings.Contains(first.Message, "node.object-deleted"):
		q.answer(event.Error, c.undo(e, "vsphere-sandbox vm reset "+c.vmName()), "a fault deleted its Node object (#%d: %s); its kubelet registers it again after a restart", first.Seq, first.Message)
	case removed.Seq != 0 && e.Cause == removed.Seq:
		q.answer(event.Error, "", "the topology has it no more%s", c.who(e))
	case gone.Seq != 0 && len(list) == 0:
		q.answer(event.Error, "", "its VM is gone: the CCM asked every vCenter, none had a VM with its providerID, and the Node was deleted%s", c.who(e))
	case gone.Seq != 0:
		q.answer(event.Error, "vsphere-sandbox vm reset "+list[0].Name, "its VM was gone when the CCM asked every vCenter%s; VM %s has its UUID by now, and registers when it boots", c.who(e), list[0].id())
	case e.Cause != 0:
		q.answer(event.Error, "", "its VM is gone, and its cloud controller manager had the Node deleted%s", c.who(e))
	}
	if len(list) > 0 {
		q.answer(event.Error, "vsphere-sandbox vm reset "+list[0].Name, "another client deleted its Node object: its VM %s exists, and the CCM did not report it as gone; its kubelet registers it again after a restart", list[0].id())
	}
	q.answer(event.Error, "", "it is not known who deleted its Node object")
}

// sawCalls adds the calls of the CCM to each vCenter in the seconds before an event, and their answers.
func (a Around) sawCalls(q *question, e event.Event) {
	const before, most = 10, 6 // seconds, calls of a vCenter
	for _, vc := range a.VCenters {
		var calls []string
		for _, call := range slices.Backward(vc.Calls) {
			age := e.Time.Sub(call.Time).Seconds()
			if age < 0 || age > before || len(calls) == most || !searches(call.Method) {
				continue
			}
			text := call.Method
			if call.Failed {
				text += " (" + call.Answer + ")"
			}
			calls = append(calls, text)
		}
		slices.Reverse(calls)
		if len(calls) > 0 {
			q.saw("gate of vCenter "+vc.Name, neither, "what the CCM called last before that", "%s", strings.Join(calls, ", "))
		}
	}
}

// searches reports whether a call is one by which a VM is looked for.
func searches(method string) bool {
	return strings.HasPrefix(method, "Find") || strings.HasPrefix(method, "Retrieve")
}

// unborn answers why a VM that should be a node is none.
func (c Node) unborn(q *question) {
	m := c.behind()
	if m == nil {
		for _, candidate := range c.VMs {
			if candidate.Role != "" {
				m = &candidate
				break
			}
		}
	}
	if m == nil {
		if len(c.VMs) > 0 {
			m := c.VMs[0]
			q.saw(m.source(), neither, "VM "+m.id(), "%s; it has no role in the topology", m.power())
			q.Evidence[0].Verdict = neither
			q.answer(event.Info, "", "VM %s is not to be a node: the topology gives it no role", m.id())
			return
		}
		q.answer(event.Error, "vsphere-sandbox get nodes", "no VM should be a node with that name")
		return
	}
	c.sawVM(q, *m)
	q.saw(m.source(), verdictOf(m.Hostname != ""), "guest of VM "+m.id(), "reports %s", m.reports())
	c.sawKubelet(q)
	q.because(c.Around, c.newest(func(e event.Event) bool {
		return ofVM(m.VCenter, m.Name)(e) || ofNode(c.Name)(e)
	}))
	rivals := only(c.VMs, func(other VMState) bool {
		exactly, _ := match.SameHostName(other.Hostname, c.Name)
		return exactly && other.id() != m.id()
	})
	e := c.newestOf(ofVM(m.VCenter, m.Name), "vm.powered-off", "vm.suspended", "vm.died")
	switch {
	case m.Power != "on":
		q.answer(event.Error, "vsphere-sandbox vm power-on "+m.Name, "its VM %s is %s, and no kubelet runs in it%s", m.id(), m.power(), c.who(e))
	case len(rivals) > 0:
		q.answer(event.Error, "", "%s goes by its name, too: two VMs cannot be one node", and(ids(rivals), "and"))
	case m.Template:
		q.answer(event.Error, "", "its VM %s is a template", m.id())
	case m.Hostname == "" && !m.Tools:
		q.answer(event.Warning, "", "its guest is booting: VM %s is on, and its tools do not run yet", m.id())
	case m.Hostname == "":
		q.answer(event.Error, "", "the guest of its VM %s reports no hostname, which a node is named after", m.id())
	case c.Kubelet != nil && c.Kubelet.State != "running":
		q.answer(event.Error, "vsphere-sandbox logs "+c.Kubelet.Name, "its kubelet is %s: %s", c.Kubelet.State, orNone(c.Kubelet.Message))
	case c.Cut:
		q.answer(event.Error, "", "its kubelet cannot reach the API server: the way is cut%s", c.who(c.newestOf(ofNode(c.Name), "api.cut")))
	}
	q.answer(event.Error, "vsphere-sandbox logs node/"+c.Name, "its kubelet runs and has not registered: its log says why")
}
