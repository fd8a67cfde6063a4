package why

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
		list = append(list, c.ready(), c.initialized(), c.zone(), c.instance(), c.addresses())
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
	if m.Stale != nil || m.Connection != "" && m.Connection != "connected" {
		verdict = unknown // the last that is known
	}
	q.saw(m.source(), verdict, "VM "+m.id(), "%s, %s", m.power(), cmp.Or(m.Connection, "connection unknown"))
	if m.Stale != nil {
		q.saw("vCenter "+m.VCenter, unknown, "VM "+m.id(), "%v", m.Stale)
	}
}
