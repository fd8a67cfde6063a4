package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/doctor"
)

// vcenters checks real vCenters.
func vcenters(ctx context.Context, o *options) error {
	chosen, err := o.real.Complete(o.getenv)
	if err != nil {
		return err
	}
	for _, w := range chosen.Config.Warnings {
		fmt.Fprintln(o.streams.Err, "warning:", printable.Line(w))
	}
	progress := vcenterconfig.NewProgress(o.streams.Err, o.streams.ErrTTY())
	defer progress.Close()
	check := doctor.Options{
		UserAgent: vcenterconfig.UserAgent(), Selection: chosen.Selection,
		OnStep: func(vcenter, what string) { progress.Step(fmt.Sprintf("vcenter %q: %s", vcenter, what)) },
	}
	if o.kubeconfig != "" || o.context != "" {
		progress.Step("nodes of the cluster")
		if check.Cluster, err = o.nodes(ctx, o.kubeconfig, o.context); err != nil {
			return err
		}
	}
	found := doctor.Check(ctx, chosen.Config, check)
	progress.Close()
	if ctx.Err() != nil {
		return ctx.Err() // what was cut off says nothing
	}
	if err := o.tell(found); err != nil {
		return err
	}
	return unfit(found)
}

// tell prints the findings: the table with why and what to try below what is not well, or another format.
func (o *options) tell(found []doctor.Finding) error {
	if o.flags.Format != output.Plain {
		return output.List(o.streams.Out, o.flags, findings(), found)
	}
	var table strings.Builder
	if err := output.List(&table, o.flags, findings(), found); err != nil {
		return err
	}
	var b strings.Builder
	lines := strings.SplitAfter(table.String(), "\n") // one for each row
	if !o.flags.NoHeaders {
		b.WriteString(lines[0])
		lines = lines[1:]
	}
	for i, f := range found {
		b.WriteString(lines[i])
		if f.Level != doctor.OK {
			fmt.Fprintf(&b, "    why: %s\n    try: %s\n", printable.Line(f.Why), printable.Line(f.Try))
		}
	}
	_, err := io.WriteString(o.streams.Out, b.String())
	return err
}

// unfit is the error where a finding is one.
func unfit(found []doctor.Finding) error {
	var ids []string
	warnings := 0
	for _, f := range found {
		switch f.Level {
		case doctor.Error:
			ids = append(ids, f.ID)
		case doctor.Warning:
			warnings++
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return &report.Error{
		Code: "vcenter-unfit", Exit: report.Prerequisite,
		Message: fmt.Sprintf("%d of %d checks found an error, %d something to look at: %s", len(ids), len(found), warnings, strings.Join(ids, ", ")),
	}
}

func findings() output.Kind[doctor.Finding] {
	where := func(f doctor.Finding) string {
		switch {
		case f.Cluster != "":
			return "cluster " + f.Cluster
		case f.VCenter != "":
			return f.VCenter
		}
		return "all"
	}
	return output.Kind[doctor.Finding]{
		Name: "Finding",
		Ref:  func(f doctor.Finding) string { return "finding/" + where(f) + "/" + f.ID },
		Columns: []output.Column[doctor.Finding]{
			{Header: "WHERE", Value: where},
			{Header: "CHECK", Value: func(f doctor.Finding) string { return f.ID }},
			{Header: "VERDICT", Value: func(f doctor.Finding) string { return string(f.Level) }},
			{Header: "FOUND", Value: func(f doctor.Finding) string { return f.What }},
			{Header: "WHY", Wide: true, Value: func(f doctor.Finding) string { return f.Why }},
			{Header: "TRY", Wide: true, Value: func(f doctor.Finding) string { return f.Try }},
		},
	}
}
