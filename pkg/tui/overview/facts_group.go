package overview

import (
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

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
