package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Node is the case of a node, or of a name that only events know.
type Node struct {
	Around
	Name string
	Node Answer[*corev1.Node]
	// Heartbeat is the Lease that its kubelet renews.
	Heartbeat Answer[*coordinationv1.Lease]
	// VMs are all VMs that may be it: by providerID, system UUID, hostname, or because they should be it.
	VMs []VMState
	// Bound is the VM whose kubelet has this name, as VCENTER/NAME; "" when no kubelet ever said it.
	Bound string
	// ProviderID is what it had last, of a node that is gone.
	ProviderID string
	// Kubelet is its process; nil for none. Cut: its network path to the API server is cut.
	Kubelet *api.Component
	Cut     bool
}

// Explain answers all questions about it.
func (c Node) Explain() api.Explanation {
	e := api.Explanation{Subject: api.Subject{Kind: "node", Name: c.Name}, Events: c.History()}
	m := c.vm()
	if m != nil {
		e.VCenter = m.VCenter
	}
	list := []question{}
	switch n := c.Node.Is; {
	case c.Node.Err != nil:
		list = append(list, c.unasked())
	case n == nil:
		list = append(list, c.absent())
	default:
		if c.Supervisor == nil {
			list = append(list, c.ready(), c.kept(), c.initialized(), c.zone(), c.instance(), c.addresses())
		} else {
			list = append(list, c.ready(), c.initializedInGuest(), c.virtualMachine(), c.placeInGuest(), c.instance(), c.addresses())
		}
		for _, key := range c.taintKeys() {
			list = append(list, c.taint(key))
		}
	}
	list = append(list, c.faults(c.touches))
	e.Questions = sorted(list)
	well := ""
	if c.Node.Is != nil {
		well = "well: ready, initialized, and what both planes say of it agrees"
	}
	e.Summary = summary("node "+c.Name, e.Questions, well)
	return e
}

// summary is the answer to the most urgent question, and how many others there are. If none is urgent, it says what the subject
// is; well is "" for one that does not exist.
func summary(subject string, list []api.Question, well string) string {
	if well != "" && (len(list) == 0 || urgency(list[0]) == 2) {
		return subject + " is " + well
	}
	text := subject + ": " + list[0].Answer
	more := 0
	for _, q := range list[1:] {
		if urgency(q) < 2 {
			more++
		}
	}
	switch more {
	case 0:
		return text
	case 1:
		return text + "; 1 more problem"
	}
	return fmt.Sprintf("%s; %d more problems", text, more)
}

// History is what happened to the node, its VM and its kubelet, and what that comes from.
func (c Node) History() []event.Event {
	node, vm := ofNode(c.Name), func(event.Event) bool { return false }
	if m := c.vm(); m != nil {
		vm = ofVM(m.VCenter, m.Name)
	} else if vcenter, name, ok := strings.Cut(c.Bound, "/"); ok {
		vm = ofVM(vcenter, name)
	}
	return History(c.Events, func(e event.Event) bool { return node(e) || vm(e) })
}

// condition is the Ready condition; its Status is "" before there is one.
func (c Node) condition() (ready corev1.NodeCondition) {
	if c.Node.Is != nil {
		for _, have := range c.Node.Is.Status.Conditions {
			if have.Type == corev1.NodeReady {
				ready = have
			}
		}
	}
	return ready
}

// tainted reports whether there is a taint of that key.
func (c Node) tainted(key string) bool {
	return c.Node.Is != nil && slices.ContainsFunc(c.Node.Is.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

func (c Node) uninitialized() bool { return c.tainted(cloudproviderapi.TaintExternalCloudProvider) }

// unasked says that nothing is known of it.
func (c Node) unasked() question {
	q := question{}
	q.Ask = "How is it?"
	q.saw(apiServer, unknown, "Node "+c.Name, "%v", c.Node.Err)
	if m := c.vm(); m != nil {
		c.sawVM(&q, *m)
	}
	q.answer(event.Error, "vsphere-sandbox status", "not known: the API server does not answer")
	return q
}

// sawVM adds what vSphere says of the VM.
func (c Node) sawVM(q *question, m VMState) {
	verdict := verdictOf(m.Power == "on")
	if !m.certain() {
		verdict = unknown // the last that is known
	}
	q.saw(m.source(), verdict, "VM "+m.id(), "%s, %s", m.power(), cmp.Or(m.Connection, "connection unknown"))
	if m.Stale != nil {
		q.saw("vCenter "+m.VCenter, unknown, "VM "+m.id(), "%v", m.Stale)
	}
}

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

func hostText(m VMState) string {
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
	if c.SharedCluster {
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
func (c Node) stillReady(q *question, m *VMState, silent bool) {
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
func (c Node) notReady(q *question, m *VMState, cond corev1.NodeCondition) {
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
	if c.SharedCluster {
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

// dead reports whether its kubelet does not even stand still.
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
