package migrate

import (
	"fmt"
	"io"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/roles"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// print prints the plans in the format that is wanted.
func (o *rolesOptions) print(plans []*roles.Plan) error {
	switch {
	case o.govc:
		var b strings.Builder
		for _, p := range plans {
			b.WriteString(p.Govc())
		}
		_, err := io.WriteString(o.streams.Out, b.String())
		return err
	case o.format != output.Text:
		return output.Object(o.streams.Out, o.format, "VCenterRoles", struct {
			VCenters []*roles.Plan `json:"vcenters"`
		}{plans})
	}
	return text(o.streams.Out, plans)
}

// text prints the plans for people: the roles, where they are granted, and what else is to be known.
func text(w io.Writer, plans []*roles.Plan) error {
	for i, p := range plans {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if p.VCenter != "" {
			fmt.Fprintf(w, "vcenter %q\n\n", p.VCenter)
		}
		if err := table(w, p); err != nil {
			return err
		}
	}
	return nil
}

func table(w io.Writer, p *roles.Plan) error {
	rows := [][]string{{"ROLE", "STATE", "PRIVILEGES"}}
	for _, r := range p.Roles {
		rows = append(rows, []string{r.Name, state(r.State, r.Why), strings.Join(r.Privileges, ", ")})
	}
	if err := (&output.Rows{W: w}).Write(drop(rows, p)...); err != nil {
		return err
	}
	fmt.Fprintln(w)
	rows = [][]string{{"FOR", "STATE", "ACCOUNT", "ROLE", "OBJECT", "PROPAGATES", "WHY"}}
	for _, g := range p.Grants {
		var who []string
		for _, c := range g.Components {
			who = append(who, string(c))
		}
		rows = append(rows, []string{strings.Join(who, ", "), state(g.State, g.Why), g.User, g.Role, g.Object, output.YesNo(g.Propagate), g.Reason})
	}
	if err := (&output.Rows{W: w}).Write(drop(rows, p)...); err != nil {
		return err
	}
	for _, n := range p.Notes {
		fmt.Fprintf(w, "\nnote: %s\n", printable.Line(n))
	}
	return nil
}

func state(s roles.State, why string) string {
	if why == "" {
		return string(s)
	}
	return string(s) + " (" + why + ")"
}

// drop leaves out the column of states where nobody was asked for any.
func drop(rows [][]string, p *roles.Plan) [][]string {
	for _, r := range p.Roles {
		if r.State != roles.Unknown {
			return rows
		}
	}
	for i, row := range rows {
		rows[i] = append(row[:1:1], row[2:]...)
	}
	return rows
}
