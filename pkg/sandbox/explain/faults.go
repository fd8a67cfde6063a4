package explain

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// active are the leases that last and touch something.
func (a Around) active(touches func(api.LeaseTarget) bool) (list []api.Lease) {
	for _, l := range a.Leases {
		if l.State == "healed" || l.State == "failed" {
			continue
		}
		if slices.ContainsFunc(l.Targets, touches) {
			list = append(list, l)
		}
	}
	return list
}

// faults tells which faults touch the subject; nothing when none do.
func (a Around) faults(touches func(api.LeaseTarget) bool) (q question) {
	q.Ask = "Which faults touch it?"
	var names []string
	list := a.active(touches)
	for _, l := range list {
		for _, t := range l.Targets {
			if !touches(t) {
				continue
			}
			what := t.Kind
			if t.Name != "" {
				what += " " + t.Name
			}
			if t.VCenter != "" && t.VCenter != t.Name {
				what = t.Kind + " " + t.VCenter + "/" + t.Name
			}
			text := t.Does
			if l.Until != nil {
				text += "; heals by itself at " + a.clock(*l.Until)
			}
			q.Evidence = append(q.Evidence, api.Evidence{What: l.ID + " " + l.Fault + " on " + what, Found: text, Verdict: wrong, Source: sandbox, Event: l.Seq})
		}
		names = append(names, l.ID+", "+l.Fault+", since "+a.clock(l.Since))
	}
	switch {
	case len(list) == 1:
		q.answer(event.Warning, "vsphere-sandbox fault heal "+list[0].ID, "fault %s", names[0])
	case len(list) > 1:
		var ids []string
		for _, l := range list {
			ids = append(ids, l.ID)
		}
		q.answer(event.Warning, "vsphere-sandbox fault heal "+strings.Join(ids, " "), "faults %s", strings.Join(names, "; "))
	}
	return q
}

// touches tells whether a fault at a target is one at the node, or at something that it depends on.
func (c Node) touches(t api.LeaseTarget) bool {
	switch kindOf(t) {
	case "node":
		return t.Name == c.Name
	case "sandbox":
		return true
	case "component":
		return t.Name == "node/"+c.Name || strings.HasPrefix(t.Name, "ccm") || t.Name == "control-plane"
	}
	if m := c.vm(); m != nil {
		return c.Around.touchesVM(*m, t)
	}
	return kindOf(t) == "vm" && t.VCenter+"/"+t.Name == c.Bound || kindOf(t) == "vcenter"
}

// kindOf is the kind of a target in lower case.
func kindOf(t api.LeaseTarget) string { return strings.ToLower(t.Kind) }

// touchesVM tells whether a fault at a target is one at a VM, or at something that it is in or on.
func (a Around) touchesVM(m Machine, t api.LeaseTarget) bool {
	if kindOf(t) == "vcenter" {
		return t.Name == m.VCenter
	}
	if t.VCenter != "" && t.VCenter != m.VCenter {
		return false
	}
	above := func(kinds ...string) bool {
		for _, walk := range [][]Object{m.FromHost, m.FromPool, m.FromVM} {
			for _, o := range walk {
				for _, kind := range kinds {
					if o.Type == kind && o.Name == t.Name {
						return true
					}
				}
			}
		}
		return false
	}
	switch kindOf(t) {
	case "vm":
		return t.Name == m.Name
	case "host":
		return t.Name == m.Host
	case "datastore":
		return slices.ContainsFunc(m.Disks, func(d api.Disk) bool { return strings.HasPrefix(d.File, "["+t.Name+"] ") })
	case "cluster":
		return above("ClusterComputeResource", "ComputeResource")
	case "datacenter":
		return above("Datacenter")
	case "zone":
		for _, walk := range [][]Object{m.FromHost, m.FromPool, m.FromVM} {
			for _, o := range walk {
				for _, tag := range o.Tags {
					if tag.Category == a.labels().Zone && tag.Name == t.Name {
						return true
					}
				}
			}
		}
	}
	return false
}
