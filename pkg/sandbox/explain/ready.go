package explain

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// ready says why the node is ready or not, from its condition down to the host under its VM.
func (c Node) ready() (q question) {
	cond, m := c.condition(), c.under()
	is := cond.Status == corev1.ConditionTrue
	if q.Ask = "Why is it not ready?"; is {
		q.Ask = "Is it ready?"
	}
	switch {
	case cond.Status == "":
		q.saw(apiServer, missing, "condition Ready", "none yet: the kubelet has not posted its status")
	case cond.Message == "":
		q.saw(apiServer, verdictOf(is), "condition Ready", "%s since %s", cond.Status, c.clock(cond.LastTransitionTime.Time))
	default:
		q.saw(apiServer, verdictOf(is), "condition Ready", "%s since %s: %s", cond.Status, c.clock(cond.LastTransitionTime.Time), cond.Message)
	}
	silent := c.heartbeat(&q)
	c.sawKubelet(&q)
	switch {
	case m != nil:
		c.sawVM(&q, *m)
		q.saw(m.source(), m.expected(m.Tools), "guest of VM "+m.id(), "reports %s", m.reports())
		if m.Host != "" {
			well := m.HostConnection == "connected" && m.HostPower != "poweredOff"
			q.saw(m.source(), verdictOf(well), "host "+m.Host, "%s", hostText(*m))
		}
	case c.Bound != "":
		q.saw("vCenter "+c.boundVCenter(), c.vanished(), "VM "+c.Bound, "%s", "not in the inventory")
	}
	q.because(c.Around, c.newestOf(ofNode(c.Name), "node.ready", "node.not-ready", "node.unknown"))
	if is {
		c.stillReady(&q, m, silent)
		return q
	}
	c.notReady(&q, m, cond)
	return q
}

func hostText(m Machine) string {
	text := m.HostConnection
	if m.HostPower != "" && m.HostPower != "poweredOn" && m.HostPower != "unknown" {
		text += ", " + m.HostPower
	}
	if m.Maintenance {
		text += ", in maintenance mode"
	}
	return text
}

// heartbeat looks at the node's Lease; silent says that it has not been renewed within the grace period.
func (c Node) heartbeat(q *question) (silent bool) {
	what := "Lease kube-node-lease/" + c.Name
	switch l := c.Heartbeat.Is; {
	case c.Heartbeat.Err != nil:
		q.saw(apiServer, unknown, what, "%v", c.Heartbeat.Err)
	case l == nil || l.Spec.RenewTime == nil:
		q.saw(apiServer, missing, what, "none: the kubelet has not renewed one")
		return true
	default:
		silent = c.Grace > 0 && c.Now.Sub(l.Spec.RenewTime.Time) > c.Grace
		q.saw(apiServer, verdictOf(!silent), what, "renewed %s ago; the grace period is %s", c.since(l.Spec.RenewTime.Time), span(c.Grace))
	}
	return silent
}

func (c Node) sawKubelet(q *question) {
	if c.Others {
		return
	}
	if c.Kubelet == nil {
		q.saw(sandbox, missing, "its kubelet", "no process of that name has been started")
		return
	}
	text := c.Kubelet.State
	if c.Kubelet.Message != "" {
		text += ": " + c.Kubelet.Message
	}
	q.saw(sandbox, verdictOf(c.Kubelet.State == "running"), "kubelet, component "+c.Kubelet.Name, "%s", text)
	if c.Cut {
		e := c.newestOf(ofNode(c.Name), "api.cut")
		q.saw(sandbox, wrong, "its way to the API server", "cut%s", c.who(e))
	}
}

// stillReady says of a node that is Ready whether it deserves it.
func (c Node) stillReady(q *question, m *Machine, silent bool) {
	const wait = "yes, still, but %s: the control plane finds out when it has heard nothing for %s"
	switch {
	case m != nil && m.Power != "on":
		q.answer(event.Warning, "", wait, "its VM "+m.id()+" is "+m.power()+c.who(c.newestOf(ofVM(m.VCenter, m.Name), "vm.powered-off", "vm.suspended", "vm.died")), span(c.Grace))
	case m == nil && c.Bound != "" && c.vanished() == missing:
		vcenter, name := c.boundTo()
		e := c.newestOf(ofVM(vcenter, name), "vm.destroyed", "vm.unregistered")
		q.answer(event.Warning, "", wait, "its VM "+c.Bound+" is gone from vCenter "+vcenter+c.who(e), span(c.Grace))
	case c.Kubelet != nil && c.Kubelet.State != "running":
		q.answer(event.Warning, "", wait, "its kubelet is "+c.Kubelet.State+c.who(c.newestOf(ofNode(c.Name), "node.hung", "component.paused", "child.exited", "child.stopped")), span(c.Grace))
	case c.Cut:
		q.answer(event.Warning, "", wait, "its way to the API server is cut"+c.who(c.newestOf(ofNode(c.Name), "api.cut")), span(c.Grace))
	case silent:
		q.answer(event.Warning, "", wait, "its Lease is not being renewed", span(c.Grace))
	default:
		q.answer(event.Info, "", "yes: its kubelet posts its status and renews its Lease")
	}
}

// notReady finds the reason that is farthest down.
func (c Node) notReady(q *question, m *Machine, cond corev1.NodeCondition) {
	const bad = event.Error
	switch {
	case m == nil && c.Bound == "":
	case m == nil && c.vanished() == unknown:
		q.answer(bad, "", "its VM %s cannot be looked at: vCenter %s does not answer", c.Bound, c.boundVCenter())
	case m == nil:
		vcenter, name := c.boundTo()
		e := c.newestOf(ofVM(vcenter, name), "vm.destroyed", "vm.unregistered")
		q.answer(bad, c.undo(e, ""), "its VM %s is gone from vCenter %s%s", c.Bound, vcenter, c.who(e))
	case c.dead() && (m.HostConnection != "" && m.HostConnection != "connected" || m.HostPower == "poweredOff"):
		e := c.newest(func(e event.Event) bool {
			return e.Object.Kind == "Host" && e.Object.VCenter == m.VCenter && e.Object.Name == m.Host
		})
		q.answer(bad, c.undo(e, ""), "the host %s under its VM %s is %s%s", m.Host, m.id(), hostText(*m), c.who(e))
	case m.Power == "off":
		e := c.newestOf(ofVM(m.VCenter, m.Name), "vm.powered-off", "vm.died")
		q.answer(bad, c.undo(e, "vsphere-sandbox vm power-on "+m.Name), "its VM %s is powered off%s", m.id(), c.who(e))
	case m.Power == "suspended":
		e := c.newestOf(ofVM(m.VCenter, m.Name), "vm.suspended")
		q.answer(bad, c.undo(e, "vsphere-sandbox vm power-on "+m.Name), "its VM %s is suspended%s", m.id(), c.who(e))
	}
	if c.Others {
		c.silentThere(q, cond)
		return
	}
	switch k := c.Kubelet; {
	case k == nil:
		q.answer(bad, "", "no kubelet of that name runs")
	case k.State == "hung":
		e := c.newestOf(ofNode(c.Name), "node.hung")
		q.answer(bad, c.undo(e, "vsphere-sandbox vm reset "+c.vmName()), "its kubelet stands still, as in a guest that hangs, and vSphere sees nothing of it%s", c.who(e))
	case k.State == "suspended":
		e := c.newestOf(ofNode(c.Name), "component.paused", "vm.suspended")
		q.answer(bad, c.undo(e, ""), "its kubelet stands still%s", c.who(e))
	case k.State == "backing-off":
		q.answer(bad, "vsphere-sandbox logs "+k.Name, "its kubelet ended and is started again and again: %s", k.Message)
	case k.State == "stopped" && m != nil && !m.Tools:
		q.answer(event.Warning, "", "its guest is booting: VM %s is on, and its tools do not run yet", m.id())
	case k.State != "running":
		q.answer(bad, "vsphere-sandbox logs "+k.Name, "its kubelet is %s", k.State)
	}
	if c.Cut {
		e := c.newestOf(ofNode(c.Name), "api.cut")
		q.answer(bad, c.undo(e, ""), "its kubelet runs and cannot reach the API server: the way is cut%s", c.who(e))
	}
	switch cond.Status {
	case corev1.ConditionUnknown:
		q.answer(bad, "vsphere-sandbox logs node/"+c.Name, "its kubelet runs, and the API server has not heard of it for the grace period of %s", span(c.Grace))
	default:
		q.answer(bad, "vsphere-sandbox logs node/"+c.Name, "its kubelet says so: %s", cmp.Or(cond.Message, cond.Reason, "it has posted no status yet"))
	}
}

// silentThere is the reason of a node of others', whose VM runs: what the API server says is all that is known.
func (c Node) silentThere(q *question, cond corev1.NodeCondition) {
	try := "vsphere-sandbox kubectl describe node " + c.Name
	if cond.Status == corev1.ConditionUnknown {
		q.answer(event.Error, try, "the API server has not heard of its kubelet for the grace period of %s", span(c.Grace))
		return
	}
	q.answer(event.Error, try, "its kubelet says so: %s", cmp.Or(cond.Message, cond.Reason, "it has posted no status yet"))
}

// dead tells whether its kubelet does not even stand still.
func (c Node) dead() bool {
	return c.Kubelet == nil || c.Kubelet.State == "stopped" || c.Kubelet.State == "backing-off"
}

// boundTo takes the name of the VM behind it apart.
func (c Node) boundTo() (vcenter, name string) { return cutID(c.Bound) }

func (c Node) boundVCenter() string { vcenter, _ := c.boundTo(); return vcenter }

func (c Node) vmName() string { _, name := c.boundTo(); return name }

// vanished is missing, or unknown when the vCenter of its VM cannot be asked.
func (c Node) vanished() string {
	if vc, ok := c.vcenter(c.boundVCenter()); ok && vc.Err != nil {
		return unknown
	}
	return missing
}
