package tables

import (
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Leases shows injected faults; now dates them.
func Leases(now time.Time) output.Kind[api.Lease] {
	type column = output.Column[api.Lease]
	return output.Kind[api.Lease]{
		Name: "Lease",
		Ref:  func(l api.Lease) string { return "lease/" + l.ID },
		Columns: []column{
			{Header: "LEASE", Value: func(l api.Lease) string { return l.ID }},
			{Header: "FAULT", Value: func(l api.Lease) string { return l.Fault }},
			{Header: "STATE", Value: func(l api.Lease) string { return l.State }},
			{Header: "TARGETS", Value: leaseTargets},
			{Header: "SINCE", Value: func(l api.Lease) string { return output.Age(now, l.Since) }},
			{Header: "HEALS-IN", Value: func(l api.Lease) string { return healsIn(now, l) }},
			{Header: "DOES", Wide: true, Value: leaseDoes},
			{Header: "PARAMETERS", Wide: true, Value: leaseParams},
			{Header: "ERROR", Wide: true, Value: leaseErrors},
		},
	}
}

// LeaseTarget names a target: us/worker-1.
func LeaseTarget(t api.LeaseTarget) string {
	if t.VCenter == "" || t.VCenter == t.Name {
		return t.Name
	}
	return t.VCenter + "/" + t.Name
}

// leaseTargets leaves out what would fill the screen.
func leaseTargets(l api.Lease) string {
	const many = 3
	names := make([]string, len(l.Targets))
	for i, t := range l.Targets {
		names[i] = LeaseTarget(t)
	}
	if len(names) > many {
		return output.Join(names[:many]) + ",…"
	}
	return output.Join(names)
}

// healsIn is how long it lasts yet; a lease that is over, and one without an end, has none.
func healsIn(now time.Time, l api.Lease) string {
	if l.Until == nil || l.State == "healed" || l.Until.Before(now) {
		return ""
	}
	return output.Age(*l.Until, now)
}

func leaseDoes(l api.Lease) string {
	return distinct(l, func(t api.LeaseTarget) string { return t.Does })
}

func leaseErrors(l api.Lease) string {
	return distinct(l, func(t api.LeaseTarget) string { return t.Error })
}

// distinct joins what is said of the targets, each thing once.
func distinct(l api.Lease, of func(api.LeaseTarget) string) string {
	var all []string
	for _, t := range l.Targets {
		if s := of(t); s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return strings.Join(all, "; ")
}

func leaseParams(l api.Lease) string {
	var all []string
	for name, value := range l.Params {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return output.Join(all)
}
