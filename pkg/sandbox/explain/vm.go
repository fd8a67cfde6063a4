package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// VM is the case of a virtual machine, or of one that only events know.
type VM struct {
	Around
	VCenter, Name string
	// State is nil when its vCenter has none of that name.
	State *VMState
	// Node is the case of the node that it is or should be; nil for none.
	Node *Node
}

// Explain answers all questions about it.
func (c VM) Explain() api.Explanation {
	e := api.Explanation{Subject: api.Subject{Kind: "vm", VCenter: c.VCenter, Name: c.Name}, Events: c.History()}
	list := []question{}
	if c.State == nil {
		list = append(list, c.gone())
	} else {
		list = append(list, c.power(), c.guest(), c.node(), c.place(), c.disks())
	}
	list = append(list, c.faults(c.touches))
	e.Questions = sorted(list)
	well := "well"
	if m := c.State; m != nil {
		well = fmt.Sprintf("%s on host %s: %d CPUs, %d MiB, %s", m.power(), m.Host, m.CPUs, m.MemoryMB, cmp.Or(m.GuestID, "no guest id"))
		if c.Node != nil && c.Node.Node.Is != nil {
			well += "; it is node " + c.Node.Name
		}
	}
	e.Summary = summary("VM "+c.VCenter+"/"+c.Name, e.Questions, well)
	return e
}

// History is what happened to the VM and its node, and what that comes from.
func (c VM) History() []event.Event {
	vm, node := ofVM(c.VCenter, c.Name), func(event.Event) bool { return false }
	if c.Node != nil {
		node = ofNode(c.Node.Name)
	}
	return History(c.Events, func(e event.Event) bool { return vm(e) || node(e) })
}

func (c VM) touches(t api.LeaseTarget) bool {
	if c.State != nil {
		return c.touchesVM(*c.State, t)
	}
	return kindOf(t) == "vm" && t.VCenter == c.VCenter && t.Name == c.Name || kindOf(t) == "vcenter" && t.Name == c.VCenter
}

// gone says what became of a VM that is in no inventory.
func (c VM) gone() (q question) {
	q.Ask = "Why is it gone?"
	if vc, ok := c.vcenter(c.VCenter); ok && vc.Err != nil {
		q.saw("vCenter "+c.VCenter, unknown, "VM "+c.Name, "%v", vc.Err)
		q.answer(event.Error, "", "it is not known whether it is: vCenter %s cannot be asked", c.VCenter)
		return q
	}
	q.saw("vCenter "+c.VCenter, missing, "VM "+c.Name, "not in the inventory")
	e := c.newestOf(ofVM(c.VCenter, c.Name), "vm.destroyed", "vm.unregistered")
	q.because(c.Around, e)
	switch {
	case c.Node == nil:
	case c.Node.Node.Err != nil:
		q.saw(apiServer, unknown, "Node "+c.Node.Name, "%v", c.Node.Node.Err)
	case c.Node.Node.Is != nil:
		q.saw(apiServer, wrong, "Node "+c.Node.Name, "still there")
	default:
		q.saw(apiServer, neither, "Node "+c.Node.Name, "gone, too")
	}
	switch e.Kind {
	case "vm.unregistered":
		q.answer(event.Error, "", "it was taken out of the inventory at %s, and its files stay%s", c.clock(e.Time), c.who(e))
	case "":
		q.answer(event.Error, "vsphere-sandbox events", "vCenter %s has none of that name, and no event says that it was destroyed: it may have another name by now", c.VCenter)
	}
	q.answer(event.Error, c.undo(e, ""), "it was destroyed at %s%s", c.clock(e.Time), c.who(e))
	return q
}

// power says why it is on or off.
func (c VM) power() (q question) {
	m := *c.State
	if q.Ask = "Why is it " + m.power() + "?"; m.Power == "on" {
		q.Ask = "Is it on?"
	}
	power := verdictOf(m.Power == "on")
	if !m.certain() {
		power = unknown
	}
	q.saw(m.source(), power, "power state", "%s", m.power())
	q.saw(m.source(), verdictOf(m.Connection == "connected"), "connection state", "%s", cmp.Or(m.Connection, "unknown"))
	if m.Host != "" {
		q.saw(m.source(), verdictOf(m.HostConnection == "connected" && m.HostPower != "poweredOff"), "host "+m.Host, "%s", hostText(m))
	}
	if m.Stale != nil {
		q.saw("vCenter "+m.VCenter, unknown, "its inventory", "%v", m.Stale)
	}
	e := c.newestOf(ofVM(c.VCenter, c.Name), "vm.powered-on", "vm.powered-off", "vm.suspended", "vm.reset", "vm.died", "ha.restarted")
	q.because(c.Around, e)
	switch {
	case m.Stale != nil:
		q.answer(event.Warning, "", "not known now: vCenter %s cannot be asked; it was %s", m.VCenter, m.power())
	case m.HostConnection != "" && m.HostConnection != "connected", m.Connection == "disconnected":
		at := c.newest(func(e event.Event) bool {
			return e.Object.Kind == "Host" && e.Object.VCenter == m.VCenter && e.Object.Name == m.Host
		})
		q.because(c.Around, at)
		q.answer(event.Error, "", "%s is the last that vCenter %s knows: its host %s is %s%s", m.power(), m.VCenter, m.Host, hostText(m), c.who(at))
	case m.Connection != "" && m.Connection != "connected":
		q.answer(event.Error, "", "%s, and %s: vCenter %s cannot read its configuration", m.power(), m.Connection, m.VCenter)
	case m.Template:
		q.answer(event.Warning, c.undo(e, ""), "it is a template, and cannot be powered on%s", c.who(e))
	case m.Power == "on":
		q.answer(event.Info, "", "yes%s", c.who(e))
	case e.Seq == 0:
		q.answer(event.Warning, "vsphere-sandbox vm power-on "+m.Name, "it is %s, since before the log begins or from the start", m.power())
	default:
		q.answer(event.Warning, c.undo(e, "vsphere-sandbox vm power-on "+m.Name), "it is %s since %s%s", m.power(), c.clock(e.Time), c.who(e))
	}
	return q
}

// guest answers what its guest reports, or why it reports nothing.
func (c VM) guest() (q question) {
	m := *c.State
	q.Ask = "What does its guest report?"
	tools := "not running"
	if m.Tools {
		tools = "running"
	}
	q.saw(m.source(), m.expected(m.Tools), "VMware Tools", "%s", tools)
	q.saw(m.source(), m.expected(m.Hostname != ""), "hostname", "%s", cmp.Or(m.Hostname, "none"))
	q.saw(m.source(), m.expected(len(m.Addresses) > 0), "addresses", "%s", cmp.Or(strings.Join(m.Addresses, ", "), "none"))
	e := c.newest(func(e event.Event) bool {
		return ofVM(c.VCenter, c.Name)(e) && strings.HasPrefix(e.Kind, "guest.")
	})
	q.because(c.Around, e)
	switch {
	case m.Power != "on":
		q.answer(event.Info, "", "nothing: a VM that is %s does not", m.power())
	case !m.Tools:
		q.answer(event.Warning, "", "nothing: its tools do not run; it boots, or they were stopped%s", c.who(e))
	case m.Hostname == "" || len(m.Addresses) == 0:
		q.answer(event.Warning, "", "not all: %s%s", m.reports(), c.who(e))
	}
	q.answer(event.Info, "", "%s", m.reports())
	return q
}

// node says which node it is, or why it is none.
func (c VM) node() (q question) {
	m := *c.State
	if c.Node == nil {
		q.Ask = "Why is it no node?"
		q.saw(sandbox, neither, "its role", "none")
		q.answer(event.Info, "", "it is not to be one: the topology gives it no role")
		return q
	}
	n := *c.Node
	if n.Node.Err != nil {
		q.Ask = "Which node is it?"
		q.saw(apiServer, unknown, "Node "+n.Name, "%v", n.Node.Err)
		q.answer(event.Warning, "", "not known: the API server does not answer")
		return q
	}
	if n.Node.Is == nil {
		q = n.absent()
		q.Ask = "Why is it no node?"
		return q
	}
	q.Ask = "Which node is it?"
	list, by := n.matches()
	if !slices.Contains(ids(list), m.id()) {
		q.saw("vCenters", wrong, "VM of node "+n.Name+" by "+by, "%s", cmp.Or(and(ids(list), "and"), "none"))
		q.answer(event.Error, "vsphere-sandbox explain node "+n.Name, "none: its kubelet registers as %s, and that node is of another VM or of none by its %s", n.Name, by)
		return q
	}
	ready := n.ready()
	q.Evidence = append(q.Evidence, ready.Evidence[0])
	q.saw("vCenters", verdictOf(len(list) == 1), "VM of node "+n.Name+" by "+by, "%s", and(ids(list), "and"))
	if ready.Level != event.Info {
		q.answer(event.Warning, "vsphere-sandbox explain node "+n.Name, "node %s, with which not all is well: %s", n.Name, ready.Answer)
	}
	q.answer(event.Info, "", "node %s, which is ready", n.Name)
	return q
}

// place says which region and zone it lies in.
func (c VM) place() (q question) {
	m, want := *c.State, c.labels()
	if want.Region == "" || want.Zone == "" {
		return q
	}
	q.Ask = "Which region and zone is it in?"
	p := c.walk(&q, m, want)
	level := event.Warning
	if c.Node == nil {
		level = event.Info
	}
	switch {
	case m.TagsErr != nil:
		q.answer(event.Warning, "", "not known now: the tags of vCenter %s cannot be read", m.VCenter)
	case !p.found:
		q.saw("vCenter "+m.VCenter, missing, "tags of both categories", "%s", lacking(p, want))
		q.answer(level, "", "none: %s", lacking(p, want))
	}
	q.answer(event.Info, "", "region %s and zone %s, by the nearest tags above it", p.region, p.zone)
	return q
}

// disks lists its disks.
func (c VM) disks() (q question) {
	q.Ask = "Which disks does it have?"
	volumes := 0
	for _, d := range c.State.Disks {
		what := fmt.Sprintf("disk at %d:%d", d.Controller, d.Unit)
		text := fmt.Sprintf("%d MiB, %s", d.Bytes>>20, d.File)
		if d.Volume != "" {
			text, volumes = text+", volume "+d.Volume, volumes+1
		}
		q.saw(c.State.source(), neither, what, "%s", text)
	}
	q.answer(event.Info, "", "%s, and %s of them a volume of CNS", count(len(c.State.Disks)), map[bool]string{true: "none", false: count(volumes)}[volumes == 0])
	return q
}
