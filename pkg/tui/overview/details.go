package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// strip returns the number of lines for the details below the table: one if the screen is low, none if it is very low.
func (s *Screen) strip() int {
	switch {
	case s.height < 8:
		return 0
	case s.width < 140 || s.height < 30:
		return 1
	}
	return min(max(12, s.height/3), 18)
}

// details describes the row with the cursor: vSphere on the left, Kubernetes on the right.
func (s *Screen) details(height int) []string {
	if height == 1 {
		return []string{s.brief()}
	}
	it, ok := s.current()
	title := ""
	var left, right []fact
	var said []string
	switch {
	case !ok:
	case it.group != nil:
		title, left, right = text.Clean(it.group.label), s.groupFacts(it.group), s.sumFacts(it.group.sum)
	default:
		title = text.Clean(it.line.name())
		switch l := it.line; {
		case l.vm != nil:
			left = s.vmFacts(*l.vm)
		case l.node != nil:
			left = []fact{{"VM", "none has the UUID of its providerID", s.theme.Warn}}
		default:
			left = []fact{{"VM", "vSphere has none of this VirtualMachine yet", s.theme.Warn}}
		}
		if m := it.line.machine; m != nil {
			left = slices.Insert(left, min(2, len(left)), s.machineFacts(*m)...)
		}
		right, said = s.nodeFacts(it.line), s.said(it.line.findings)
	}
	rule := s.theme.Border.Render("── ") + s.theme.Title.Render(title) + " "
	lines := []string{rule + s.theme.Border.Render(strings.Repeat("─", max(0, s.width-text.Width(rule))))}
	lines = append(lines, said...)
	half := (s.width - 3) / 2
	seam := " " + s.theme.Border.Render("│") + " "
	for i := 0; len(lines) < height; i++ {
		lines = append(lines, text.Fit(s.fact(left, i), half)+seam+s.fact(right, i))
	}
	return lines
}

func (s *Screen) fact(facts []fact, i int) string {
	if i >= len(facts) {
		return ""
	}
	f := facts[i]
	if f.value == "" {
		f.value, f.style = "none", s.theme.Dim
	}
	return s.theme.Dim.Render(text.Fit(f.name, 12)) + " " + f.style.Render(text.Clean(f.value))
}

func (s *Screen) said(all []fold.Finding) (lines []string) {
	for _, f := range all {
		if f.Settling {
			lines = append(lines, s.theme.Warn.Render(theme.GlyphWarn+" "+text.Clean(f.Text)+", for the moment"))
		} else {
			lines = append(lines, s.theme.Conflict.Render(theme.GlyphConflict+" "+text.Clean(f.Text)))
		}
	}
	return lines
}

// fact is a line of the details.
type fact struct {
	name  string
	value string
	style theme.Style
}

func (s *Screen) vmFacts(v api.VM) []fact {
	th := s.theme
	power, connection := glance.Power(v), glance.Connection(v.Connection)
	state := power.String() + ", " + connection.Word + ", " + glance.Tools(v).Word
	if v.Process != "" {
		state += ", guest " + v.Process
	}
	level := max(power.Level, connection.Level, glance.Tools(v).Level, glance.Process(v).Level)
	facts := []fact{
		{"VM", v.VCenter + " " + v.Path + " (" + v.MoRef + ")", th.Text},
		{"state", state, level.Style(th)},
		{"host", orNone(v.Host) + ", cluster " + orNone(v.Cluster), th.Text},
		{"tags", placeWords(v.Region, v.Zone), th.Text},
		{"UUID", v.UUID, th.Text},
		{"hostname", v.Hostname, th.Text},
		{"addresses", strings.Join(v.Addresses, " "), th.Text},
		{"size", fmt.Sprintf("%d CPU, %s, %s", v.CPUs, text.Bytes(v.MemoryBytes), v.GuestID), th.Text},
	}
	facts = append(facts, s.faults(v)...)
	for i, d := range v.Disks {
		name := ""
		if i == 0 {
			name = "disks"
		}
		words := fmt.Sprintf("scsi %d:%d %s %s", d.Controller, d.Unit, text.Bytes(d.Bytes), d.File)
		if d.Volume != "" {
			words += " volume " + d.Volume
		}
		facts = append(facts, fact{name, words, th.Text})
	}
	return facts
}

// machineFacts describe the VirtualMachine that a VM is in its Supervisor.
func (s *Screen) machineFacts(m api.VirtualMachine) []fact {
	th := s.theme
	mark := glance.Machine(m)
	facts := []fact{
		{"machine", m.Namespace + "/" + m.Name + ", " + m.PowerChange() + ", class " + orNone(m.Class), mark.Style(th)},
		{"", "guest cluster " + orNone(m.Guest) + ", zone " + orNone(m.Zone) + ", " + orNone(strings.Join(m.Addresses, " ")), th.Dim},
	}
	if m.Deleting {
		facts = append(facts, fact{"", "it is being deleted", th.Warn})
	}
	for _, c := range m.NotTrue() {
		facts = append(facts, fact{"condition", c.Type + " is " + c.Status + ": " + cmp.Or(c.Message, orNone(c.Reason)), th.Warn})
	}
	if n := len(m.Conditions) - len(m.NotTrue()); n > 0 {
		facts = append(facts, fact{"", shorten.Count(n, "condition") + " True", th.Dim})
	}
	return facts
}

// faults returns the lasting faults that target a VM, its host or its node.
func (s *Screen) faults(v api.VM) (facts []fact) {
	for _, l := range world.Values[api.Lease](s.state.World(), world.Lease) {
		if l.State != "applying" && l.State != "active" || !slices.ContainsFunc(l.Targets, func(t api.LeaseTarget) bool {
			return t.Kind == "VM" && t.Name == v.Name && t.VCenter == v.VCenter || t.Kind == "Host" && t.Name == v.Host && t.VCenter == v.VCenter ||
				t.Kind == "Node" && strings.EqualFold(t.Name, cmp.Or(v.Hostname, v.Name))
		}) {
			continue
		}
		words := l.ID + " " + l.Fault + ", until it is healed"
		if l.Until != nil {
			words = l.ID + " " + l.Fault + ", for " + text.Ago(l.Until.Sub(s.state.Now())) + " more"
		}
		facts = append(facts, fact{"fault", words, s.theme.Warn})
	}
	return facts
}

func placeWords(region, zone string) string {
	if region == "" && zone == "" {
		return "neither region nor zone"
	}
	return "region " + orNone(region) + ", zone " + orNone(zone)
}

func orNone(s string) string { return cmp.Or(s, "none") }

func (s *Screen) nodeFacts(l *line) []fact {
	th := s.theme
	if l.node == nil && l.vm == nil {
		return []fact{{"node", "none: the VirtualMachine has no VM", th.Dim}}
	}
	if l.node == nil {
		return []fact{{"node", "none, and it should be none", th.Dim}}
	}
	n := *l.node
	if !n.Registered {
		return []fact{{"node", n.Name, th.Text}, {"ready", glance.Node(n).String() + ": its kubelet has not made it yet, or it was deleted", th.Warn}}
	}
	ready := glance.Node(n)
	words := ready.String()
	if l.gone {
		words = theme.GlyphBad + " deleted a moment ago"
	}
	if n.Unschedulable {
		words += ", cordoned"
	}
	if !n.Initialized {
		words += ", the CCM has not initialized it"
	}
	facts := []fact{{"node", n.Name + "  " + strings.Join(n.Roles, " ") + "  " + n.Version, th.Text}, {"ready", words, ready.Style(th)}}
	facts = append(facts, fact{"labels", placeWords(n.Region, n.Zone), s.zone(l).Style})
	for _, key := range topologyLabels(n.Labels) {
		facts = append(facts, fact{"", key + "=" + n.Labels[key], th.Dim})
	}
	facts = append(facts, fact{"providerID", orNone(n.ProviderID), th.Text}, fact{"addresses", strings.Join(n.Addresses, " "), th.Text}, fact{"type", n.InstanceType, th.Text})
	for i, t := range n.Taints {
		name := ""
		if i == 0 {
			name = "taints"
		}
		facts = append(facts, fact{name, t, glance.ParseTaint(t).Level().Style(th)})
	}
	for i, v := range l.volumes {
		name := ""
		if i == 0 {
			name = "volumes"
		}
		state := glance.Volume(v.State)
		words := strings.Join(slices.DeleteFunc([]string{state.String(), v.Claim, strings.Join(v.Pods, " ")}, func(s string) bool { return s == "" }), "  ")
		facts = append(facts, fact{name, words, state.Style(th)})
	}
	return facts
}

// topologyLabels are the keys of labels about places that are not shown elsewhere.
func topologyLabels(labels map[string]string) (keys []string) {
	for key := range labels {
		if strings.Contains(key, "topology.") && key != "topology.kubernetes.io/region" && key != "topology.kubernetes.io/zone" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (s *Screen) groupFacts(g *group) []fact {
	th := s.theme
	switch {
	case g.host != nil:
		h := g.host
		state := glance.Connection(h.Connection)
		return []fact{
			{"host", h.VCenter + " " + h.Datacenter + " " + h.Name, th.Text},
			{"state", state.String() + ", power " + h.Power, state.Style(th)},
			{"cluster", orNone(h.Cluster), th.Text},
			{"size", fmt.Sprintf("%d CPU, %s", h.CPUs, text.Bytes(h.MemoryBytes)), th.Text},
			{"VMs", fmt.Sprint(h.VMs), th.Text},
		}
	case g.vcenter != nil:
		v := g.vcenter
		gate := glance.Gate(*v)
		words := gate.String()
		if v.Delay > 0 {
			words += fmt.Sprintf(", each call takes %s longer", text.Took(time.Duration(v.Delay)))
		}
		return []fact{
			{"vCenter", v.Name + " " + v.URL, th.Text},
			{"gate", words, gate.Style(th)},
			{"version", v.Version + " " + v.InstanceUUID, th.Text},
			{"inventory", fmt.Sprintf("%s, %s, %s", shorten.Count(v.Datacenters, "datacenter"), shorten.Count(v.Hosts, "host"), shorten.Count(v.VMs, "VM")), th.Text},
		}
	}
	return []fact{{"place", placeOf(g), th.Text}}
}

func placeOf(g *group) string {
	switch g.depth {
	case apart:
		return "nodes that no VM has the UUID of"
	case region:
		return "region " + orNone(g.place.region)
	case zone:
		return "region " + orNone(g.place.region) + ", zone " + orNone(g.place.zone)
	}
	return g.label
}

func (s *Screen) sumFacts(t tally) []fact {
	return []fact{
		{"VMs", ratio(t.on, t.vms) + " on", s.theme.Text},
		{"nodes", ratio(t.ready, t.nodes) + " Ready", s.theme.Text},
		{"findings", orNone(counts(t)), s.theme.Text},
	}
}

// brief returns what a narrow table cuts off the row with the cursor.
func (s *Screen) brief() string {
	it, ok := s.current()
	if !ok {
		return ""
	}
	th := s.theme
	var parts []string
	say := func(style theme.Style, words string) {
		if words != "" {
			parts = append(parts, style.Render(text.Clean(words)))
		}
	}
	if g := it.group; g != nil {
		say(th.Title, g.label)
		say(g.trouble.Style(th), g.trouble.String())
		if g.host != nil {
			say(th.Dim, "cluster "+orNone(g.host.Cluster))
		}
		say(th.Dim, shorten.Count(g.sum.vms, "VM")+", "+shorten.Count(g.sum.nodes, "node"))
		return strings.Join(parts, th.Dim.Render(" · "))
	}
	l := it.line
	say(th.Title, l.name())
	if cell := s.findings(l.findings, l.trouble); cell.Text != "" {
		say(cell.Style, cell.Text)
	}
	if l.node != nil && l.node.Registered {
		taints, level := glance.Taints(l.node.Taints, true)
		say(level.Style(th), taints)
		say(th.Dim, addresses(l.node.Addresses))
		if l.vm != nil && l.node.Name != l.vm.Name {
			say(th.Dim, "node "+l.node.Name)
		}
	}
	if len(l.volumes) > 0 {
		say(th.Dim, shorten.Count(len(l.volumes), "volume"))
	}
	return strings.Join(parts, th.Dim.Render(" · "))
}
