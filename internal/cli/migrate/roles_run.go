package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/roles"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// request is a plan of what the flags say.
func (o *rolesOptions) request(name string, sites roles.Sites) (*roles.Plan, error) {
	r := roles.Request{VCenter: name, Sites: sites, Users: map[privilege.Component]string{privilege.CCM: o.ccm, privilege.CSI: o.csi}}
	if o.fileVolumes {
		r.Options = []privilege.Option{privilege.FileVolumes}
	}
	p, err := roles.Make(r)
	if err != nil {
		return nil, report.UsageError("--ccm-user ccm@vsphere.local --csi-user csi@vsphere.local", "%v", err)
	}
	return p, nil
}

func runRoles(ctx context.Context, o *rolesOptions) error {
	if o.real.Asked() {
		return o.connected(ctx)
	}
	plans, err := o.offline()
	if err != nil {
		return err
	}
	return o.print(plans)
}

// connected compares plans with the vCenters and, with --create, creates what is missing.
func (o *rolesOptions) connected(ctx context.Context) error {
	chosen, err := o.real.Complete(o.getenv)
	if err != nil {
		return err
	}
	for _, w := range chosen.Config.Warnings {
		fmt.Fprintln(o.streams.Err, "warning:", printable.Line(w))
	}
	progress := vcenterconfig.NewProgress(o.streams.Err, o.streams.ErrTTY())
	defer progress.Close()
	progress.Step("login")
	all, done, err := vcenterconfig.Connect(ctx, chosen.Config)
	if err != nil {
		return err
	}
	defer done()
	var targets []roles.Target
	for _, c := range all {
		progress.Step(fmt.Sprintf("vcenter %q: inventory, roles and permissions", c.VCenter.Name))
		plan, err := o.plan(ctx, c, chosen.Selection, vcenterconfig.Categories(chosen.Config))
		if err != nil {
			return vcenterconfig.Explain(ctx, err)
		}
		targets = append(targets, roles.Target{Plan: plan, VCenter: c})
	}
	progress.Close()
	plans := make([]*roles.Plan, len(targets))
	for i, t := range targets {
		plans[i] = t.Plan
	}
	if !o.create {
		return o.print(plans)
	}
	return o.make(ctx, targets, plans)
}

func (o *rolesOptions) plan(ctx context.Context, c *vcenter.Connection, s inventory.Selection, categories inventory.Categories) (*roles.Plan, error) {
	inv, err := inventory.Read(ctx, c, s, categories)
	if err == nil {
		err = inventory.Nowhere(inv) // each has to have it: where nothing is chosen, something is granted on everything
	}
	if err != nil {
		return nil, err
	}
	for _, w := range inv.Warnings {
		fmt.Fprintln(o.streams.Err, "warning:", printable.Line(w))
	}
	if len(inv.VMs) == 0 && len(s.Tags)+len(s.Names)+len(s.Pools) > 0 {
		fmt.Fprintf(o.streams.Err, "warning: vcenter %q has no such VM: nothing is granted on VMs there\n", c.VCenter.Name)
	}
	sites, err := o.sites(inv, s, categories)
	if err != nil {
		return nil, err
	}
	plan, err := o.request(c.VCenter.Name, sites)
	if err != nil {
		return nil, err
	}
	return plan, plan.Compare(ctx, c)
}

// make makes what is missing, after it has been shown and confirmed.
func (o *rolesOptions) make(ctx context.Context, targets []roles.Target, plans []*roles.Plan) error {
	var differing []string
	newRoles, newGrants := 0, 0
	for _, p := range plans {
		r, g := p.Missing()
		newRoles, newGrants, differing = newRoles+r, newGrants+g, append(differing, p.Differing()...)
	}
	switch {
	case len(differing) > 0:
		if err := o.print(plans); err != nil {
			return err
		}
		return &report.Error{
			Code: "roles-differ", Message: "nothing was done: roles or permissions with other contents exist\n" + strings.Join(differing, "\n"),
			Try: "change or remove them in the vSphere Client, or name another account",
		}
	case newRoles+newGrants == 0:
		fmt.Fprintln(o.streams.Err, "everything already exists")
		return o.print(plans)
	}
	if !o.yes {
		if err := o.ask(ctx, plans, newRoles, newGrants); err != nil {
			return err
		}
	}
	const doing = "roles and permissions"
	progress := vcenterconfig.NewProgress(o.streams.Err, o.streams.ErrTTY())
	progress.Step(doing)
	err := roles.Apply(ctx, targets, func(s string) {
		progress.Step(doing)
		fmt.Fprintln(o.streams.Err, printable.Lines(s))
	})
	progress.Close()
	if undone, ok := errors.AsType[*roles.Undone](err); ok {
		return o.undone(ctx, undone)
	}
	if err != nil {
		return err
	}
	return o.print(plans)
}

// ask shows the plan to a person, and returns nil for a yes.
func (o *rolesOptions) ask(ctx context.Context, plans []*roles.Plan, newRoles, newGrants int) error {
	what := fmt.Sprintf("%d roles to create, %d permissions to grant", newRoles, newGrants)
	if !o.streams.Interactive() {
		return &report.Error{
			Code: "unconfirmed", Message: "nothing was done: a confirmation is needed, and there is no terminal to ask at: " + what, Try: "the same with --yes", Exit: report.Usage,
		}
	}
	if err := text(o.streams.Err, plans); err != nil {
		return err
	}
	ok, err := o.streams.Confirm(ctx, what+". Do it?")
	if err == nil && !ok {
		fmt.Fprintln(o.streams.Err, "nothing was done")
		return report.Exit(report.Failure)
	}
	return err
}

// undone prints what was rolled back.
func (o *rolesOptions) undone(ctx context.Context, u *roles.Undone) error {
	for _, s := range u.Back {
		fmt.Fprintln(o.streams.Err, "taken back:", printable.Line(s))
	}
	for _, s := range u.Left {
		fmt.Fprintln(o.streams.Err, "still there:", printable.Line(s))
	}
	if len(u.Left) > 0 {
		return &report.Error{Code: "roles-left", Message: u.Error(), Try: "remove the listed objects in the vSphere Client"}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := report.Of(vcenterconfig.Explain(ctx, u.Err))
	return &report.Error{Code: e.Code, Message: u.Error(), Try: tryOf(e)}
}

// tryOf is the advice of an error, where it is about writing: reading has been allowed.
func tryOf(e report.Record) string {
	if e.Code == "vcenter-no-permission" {
		return "give an administrator's account: --vcenter-config " + vcenterconfig.Environment + " with GOVC_USERNAME and GOVC_PASSWORD"
	}
	return e.Try
}
