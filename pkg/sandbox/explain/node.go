package explain

import (
	"cmp"
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
	Node Asked[*corev1.Node]
	// Heartbeat is the Lease that its kubelet renews.
	Heartbeat Asked[*coordinationv1.Lease]
	// Machines are all VMs that may be it: by providerID, system UUID, hostname, or because they are to be it.
	Machines []Machine
	// Bound is the VM whose kubelet has this name, as VCENTER/NAME; "" when no kubelet ever said it.
	Bound string
	// ProviderID is what it had last, of a node that is gone.
	ProviderID string
	// Kubelet is its process; nil when there is none. Cut: its way to the API server is cut.
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
		list = append(list, c.ready(), c.kept(), c.initialized(), c.zone(), c.instance(), c.addresses())
		for _, key := range c.taintKeys() {
			list = append(list, c.taint(key))
		}
	}
	list = append(list, c.faults(c.touches))
	e.Questions = sorted(list)
	e.Summary = summary("node "+c.Name, e.Questions, "well: ready, initialized, and what both planes say of it agrees")
	return e
}

// summary is the answer to the most urgent question, and how many others there are.
func summary(subject string, list []api.Question, well string) string {
	if len(list) == 0 || urgency(list[0]) == 2 {
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
		return text + "; one thing more is not as it should be"
	}
	return text + "; " + count(more) + " things more are not as they should be"
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

// tainted tells whether there is a taint of that key.
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
func (c Node) sawVM(q *question, m Machine) {
	verdict := verdictOf(m.Power == "on")
	if !m.certain() {
		verdict = unknown // the last that is known
	}
	q.saw(m.source(), verdict, "VM "+m.id(), "%s, %s", m.power(), cmp.Or(m.Connection, "connection unknown"))
	if m.Stale != nil {
		q.saw("vCenter "+m.VCenter, unknown, "VM "+m.id(), "%v", m.Stale)
	}
}
