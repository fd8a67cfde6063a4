package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

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
