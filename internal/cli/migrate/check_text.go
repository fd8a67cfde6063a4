package migrate

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// checkText is a report as it is read: nodes, volumes, findings with what to do below those that do not pass.
func checkText(r *check.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s %s\nnodes: %d, vCenters: %d, of the in-tree provider: volumes: %d, classes: %d\n",
		r.Cluster, r.Version, len(r.Nodes), len(r.VCenters), len(r.Volumes), len(r.Classes))
	section(&b, nodeKind(), r.Nodes)
	section(&b, volumeKind(), r.Volumes)
	b.WriteByte('\n')
	var table strings.Builder
	_ = output.List(&table, output.Flags{Format: output.Plain}, findingKind(), r.Findings) // a builder takes everything
	for i, line := range strings.SplitAfter(table.String(), "\n") {
		b.WriteString(line)
		if i == 0 || i > len(r.Findings) {
			continue
		}
		if f := r.Findings[i-1]; f.Verdict != check.Pass {
			fmt.Fprintf(&b, "    why: %s\n    try: %s\n", printable.Line(f.Why), printable.Line(f.Try))
		}
	}
	fmt.Fprintf(&b, "\n%d pass, %d warn, %d fail\n", r.Count(check.Pass), r.Count(check.Warn), r.Count(check.Fail))
	return b.String()
}

// section is a table after an empty line, where there is anything in it.
func section[T any](b *strings.Builder, kind output.Kind[T], items []T) {
	if len(items) == 0 {
		return
	}
	b.WriteByte('\n')
	_ = output.List(b, output.Flags{Format: output.Plain}, kind, items) // a builder takes everything
}

func nodeKind() output.Kind[check.Node] {
	vm := func(f func(*check.VM) string) func(check.Node) string {
		return func(n check.Node) string {
			if n.VM == nil {
				return ""
			}
			return f(n.VM)
		}
	}
	return output.Kind[check.Node]{
		Name: "Node", Ref: func(n check.Node) string { return "node/" + n.Name },
		Columns: []output.Column[check.Node]{
			{Header: "NODE", Value: func(n check.Node) string { return n.Name }},
			{Header: "VM", Value: vm(func(v *check.VM) string { return v.Path })},
			{Header: "VCENTER", Value: vm(func(v *check.VM) string { return v.VCenter })},
			{Header: "FOUND-BY", Value: vm(func(v *check.VM) string { return v.Match })},
			{Header: "HARDWARE", Value: vm(func(v *check.VM) string { return v.HardwareVersion })},
			{Header: "DISK-UUID", Value: vm(func(v *check.VM) string { return output.YesNo(v.DiskUUID) })},
			{Header: "ZONE", Value: vm(func(v *check.VM) string { return strings.Trim(v.Region+"/"+v.Zone, "/") })},
			{Header: "PROVIDER-ID", Value: func(n check.Node) string { return output.YesNo(n.ProviderID != "") }},
			{Header: "CSI", Value: func(n check.Node) string { return output.YesNo(n.Driver) }},
			{Header: "MIGRATED", Value: func(n check.Node) string { return output.YesNo(n.Migrated) }},
		},
	}
}

func volumeKind() output.Kind[check.Volume] {
	return output.Kind[check.Volume]{
		Name: "Volume", Ref: func(v check.Volume) string { return "volume/" + v.Name },
		Columns: []output.Column[check.Volume]{
			{Header: "VOLUME", Value: func(v check.Volume) string { return v.Name }},
			{Header: "DISK", Value: func(v check.Volume) string { return v.Path }},
			{Header: "VCENTER", Value: func(v check.Volume) string { return v.VCenter }},
			{Header: "STATE", Value: func(v check.Volume) string {
				state, _, _ := strings.Cut(v.Disk, ":")
				return state
			}},
			{Header: "PHASE", Value: func(v check.Volume) string { return v.Phase }},
			{Header: "CLAIM", Value: func(v check.Volume) string { return v.Claim }},
			{Header: "PODS", Value: func(v check.Volume) string { return output.Join(v.Pods) }},
		},
	}
}

func findingKind() output.Kind[check.Finding] {
	return output.Kind[check.Finding]{
		Name: "Finding", Ref: func(f check.Finding) string { return "finding/" + f.Where + "/" + f.Check },
		Columns: []output.Column[check.Finding]{
			{Header: "VERDICT", Value: func(f check.Finding) string { return string(f.Verdict) }},
			{Header: "CHECK", Value: func(f check.Finding) string { return f.Check }},
			{Header: "WHERE", Value: func(f check.Finding) string { return f.Where }},
			{Header: "FOUND", Value: func(f check.Finding) string { return f.Found }},
		},
	}
}
