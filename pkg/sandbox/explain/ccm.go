package explain

import (
	"errors"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// sawCCM looks at the cloud controller manager itself.
func (a Around) sawCCM(q *question) {
	if len(a.CCM) == 0 && a.SharedCluster {
		q.saw(sandbox, neither, "cloud controller manager", "none of the sandbox's runs; the cluster may have one")
		return
	}
	if len(a.CCM) == 0 {
		q.saw(sandbox, missing, "cloud controller manager", "none runs")
		q.answer(event.Error, "vsphere-sandbox ccm swap builtin", "no cloud controller manager runs")
	}
	var ill []string
	for _, r := range a.CCM {
		text := r.State
		if r.Health != "" {
			text += ", " + r.Health
		}
		well := r.State == "running" && (r.Health == "healthy" || r.Health == "")
		q.saw(sandbox, verdictOf(well), "component "+r.Name, "%s", strings.TrimSuffix(text+": "+r.Message, ": "))
		if !well {
			ill = append(ill, r.Name+" is "+text)
		}
	}
	if len(ill) > 0 && len(ill) == len(a.CCM) {
		e := a.newest(func(e event.Event) bool {
			return e.Object.Kind == "Component" && strings.HasPrefix(e.Object.Name, "ccm") && e.Kind != "ccm.unhealthy" && e.Kind != "ccm.healthy"
		})
		q.because(a, e)
		q.answer(event.Error, "vsphere-sandbox logs "+a.CCM[0].Name, "the CCM does not work: %s%s", ill[0], a.who(e))
	}
	if a.CCMCut {
		q.saw(sandbox, wrong, "the CCM's way to the API server", "cut")
		q.answer(event.Error, "", "the CCM cannot reach the API server")
	}
}

// sawConfig looks at what the CCM is configured with.
func (a Around) sawConfig(q *question) {
	switch {
	case a.Config.Err != nil:
		q.saw(cloudConfig, wrong, "vsphere.conf", "%v; a CCM that runs keeps the one before", a.Config.Err)
	case a.Config.Is != nil:
		var servers []string
		for _, v := range a.Config.Is.VCenters {
			text := v.Tenant + " at " + v.Server
			if len(v.Datacenters) > 0 {
				text += " with " + strings.Join(v.Datacenters, ", ")
			}
			servers = append(servers, text)
		}
		q.saw(cloudConfig, verdictOf(len(servers) > 0), "vCenters", "%s", strings.Join(servers, "; "))
	}
}

// validate returns the command that checks the file with the cloud-config.
func (a Around) validate() string {
	file := "FILE"
	if bad, ok := errors.AsType[*config.Error](a.Config.Err); ok && len(bad.Problems) > 0 {
		file = shellescape.Quote(bad.Problems[0].File)
	}
	return "vsphere-sandbox config validate " + file
}

// connected says how the CCM gets on with a vCenter, and why not if it does not.
func (a Around) connected(vc VCenter) (why string, e event.Event) {
	of := func(name string) func(event.Event) bool {
		return func(e event.Event) bool { return e.Object.Kind == "VCenter" && e.Object.Name == name }
	}
	if vc.Gate == "down" || vc.Gate == "hung" {
		return "it is " + vc.Gate + " for its clients", a.newestOf(of(vc.Name), "gate."+vc.Gate)
	}
	names := []string{vc.Name}
	for _, v := range a.sections(vc) { // the CCM names a connection after its section
		if v.Tenant != vc.Name {
			names = append(names, v.Tenant)
		}
	}
	for _, name := range names {
		e = a.newestOf(of(name), "ccm.vcenter-connected", "ccm.vcenter-unreachable", "ccm.vcenter-login-failed", "ccm.vcenter-credentials-missing")
		if e.Seq != 0 && e.Kind != "ccm.vcenter-connected" && a.newestOf(of(vc.Name), "gate.up").Seq < e.Seq {
			return "the CCM said at " + a.clock(e.Time) + ": " + e.Message, e
		}
	}
	return "", e
}

// sawVCenters looks at each vCenter that might have the VM; searched, when no VM was found.
func (a Around) sawVCenters(q *question, searched bool) {
	for _, vc := range a.VCenters {
		_, configured := a.configured(vc)
		why, e := a.connected(vc)
		switch {
		case a.Config.Is != nil && !configured:
			q.saw(cloudConfig, missing, "vCenter "+vc.Name, "not in the cloud-config: the CCM does not know of it")
		case why != "":
			q.saw(sandbox, wrong, "vCenter "+vc.Name, "%s", why)
			q.because(a, e)
			if searched {
				q.answer(event.Error, mend(vc), "vCenter %s may have its VM, and the CCM cannot ask it: %s%s", vc.Name, why, a.who(e))
			}
		default:
			q.saw(sandbox, fine, "vCenter "+vc.Name, "%s", a.answers()+gateText(vc))
			a.sawNames(q, vc)
		}
		if vc.Err != nil {
			q.saw("vCenter "+vc.Name, unknown, "its inventory", "%v", vc.Err)
		}
	}
}

// mend is what may help a vCenter that the CCM cannot ask.
func mend(vc VCenter) string {
	if vc.Gate == "down" || vc.Gate == "hung" {
		return "vsphere-sandbox vcenter up " + vc.Name
	}
	return "vsphere-sandbox logs ccm"
}

// answers describes a vCenter without known problems. Where no CCM runs, no CCM asks it.
func (a Around) answers() string {
	if len(a.CCM) == 0 {
		return "is up"
	}
	return "answers the CCM"
}

func gateText(vc VCenter) string {
	if vc.Gate == "up" || vc.Gate == "" {
		return ""
	}
	return ", and is " + vc.Gate
}

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

// faults adds the faults that affect the subject.
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
				text += "; heals automatically at " + a.clock(*l.Until)
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

// touches reports whether a fault at a target is one at the node, or at something that it depends on.
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

// touchesVM reports whether a fault at a target is one at a VM, or at something that it is in or on.
func (a Around) touchesVM(m VMState, t api.LeaseTarget) bool {
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
