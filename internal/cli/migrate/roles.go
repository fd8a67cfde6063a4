package migrate

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/roles"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

type rolesOptions struct {
	streams *iostreams.Streams
	getenv  func(string) string

	conf        string // a file that is only read
	real        vcenterconfig.Flags
	datastores  []string
	ccm, csi    string
	fileVolumes bool
	govc        bool
	force       bool
	format      string
}

// NewCmdRoles returns the command; runF, when not nil, runs in its place.
func NewCmdRoles(d *command.Deps, runF func(context.Context, *rolesOptions) error) *cobra.Command {
	o := &rolesOptions{streams: d.Streams, getenv: d.Getenv}
	runF = command.Or(runF, runRoles)
	cmd := &cobra.Command{
		Use:   "roles [FILE]",
		Short: "Print the least-privilege roles of the vCenter accounts",
		Long: `Print the least-privilege vCenter roles of the cloud controller manager and the
CSI driver, where each one is granted, and why.

FILE              a vsphere.conf, old or new: print roles for the objects in it,
                  without contacting a vCenter
--vcenter-config  read the vCenters, and report which roles and permissions
                  exist. --folder, --tag, --vm, --pool and --datacenter select
                  the VMs that are nodes, --datastore the datastores for
                  volumes; the default is all that the account sees.
--ccm-user, --csi-user
                  the accounts; both may be the same. They must exist.
--govc            print the govc commands that create what is missing. Existing
                  roles and permissions are not changed: one that differs is a
                  comment. Run the commands as an administrator.
--file-volumes    add what upstream's driver needs for volumes that several
                  nodes mount, with vSAN file services

Exit status:
  0    printed
  1    a vCenter could not be read
  2    wrong flag or file`,
		Example: `  vsphere-sandbox migrate roles
  vsphere-sandbox migrate roles --govc
  vsphere-sandbox migrate roles /etc/kubernetes/vsphere.conf
  vsphere-sandbox migrate roles --vcenter-config env --folder k8s --datastore shared
  vsphere-sandbox migrate roles --vcenter-config env --folder k8s --ccm-user ccm@vsphere.local --csi-user csi@vsphere.local --govc`,
		Args: command.AtMostOne,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.conf = args[0]
			}
			if err := o.complete(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	o.real.Bind(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&o.datastores, "datastore", nil, "datastore for volumes: `NAME` or inventory path; repeatable")
	f.StringVar(&o.ccm, "ccm-user", "", "`ACCOUNT` of the cloud controller manager, with its domain")
	f.StringVar(&o.csi, "csi-user", "", "`ACCOUNT` of the CSI driver, with its domain")
	f.BoolVar(&o.fileVolumes, "file-volumes", false, "add the privileges for file volumes of upstream's driver")
	f.BoolVar(&o.govc, "govc", false, "print the govc commands that create what is missing")
	f.BoolVar(&o.force, "force", false, "ignore unknown sections and keys of FILE")
	for _, name := range []string{"datastore", "ccm-user", "csi-user"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions) // cannot fail: the flags were added above
	}
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

// complete checks which flags go together.
func (o *rolesOptions) complete(cmd *cobra.Command) error {
	if err := o.real.CheckUnset(cmd); err != nil {
		return err
	}
	const connect = "--vcenter-config FILE, or --vcenter-config " + vcenterconfig.Environment + " for govc's variables"
	switch {
	case o.conf != "" && o.real.IsSet():
		return report.UsageError("--vcenter-config "+o.conf, "FILE is only read, and --vcenter-config connects: give one of them")
	case len(o.datastores) > 0 && !o.real.IsSet():
		return report.UsageError(connect, "--datastore names one of a vCenter, and none is named")
	case o.force && o.conf == "":
		return report.UsageError(command.Program+" migrate roles FILE --force", noForce)
	case o.govc && o.format != output.Text:
		return report.UsageError(command.Program+" migrate roles --govc", "--govc prints commands, not %s", o.format)
	}
	return nil
}

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

// text prints the plans for people: the roles, where they are granted, and notes.
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

// drop leaves out the column of states if no vCenter was asked.
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
	if o.real.IsSet() {
		return o.connected(ctx)
	}
	plans, err := o.offline()
	if err != nil {
		return err
	}
	return o.print(plans)
}

// connected prints plans that are compared with the vCenters.
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
	var plans []*roles.Plan
	for _, c := range all {
		progress.Step(fmt.Sprintf("vcenter %q: inventory, roles and permissions", c.VCenter.Name))
		plan, err := o.plan(ctx, c, chosen.Selection, vcenterconfig.Categories(chosen.Config))
		if err != nil {
			return vcenterconfig.Explain(ctx, err)
		}
		plans = append(plans, plan)
	}
	progress.Close()
	return o.print(plans)
}

func (o *rolesOptions) plan(ctx context.Context, c *vcenter.Connection, s inventory.Selection, categories inventory.Categories) (*roles.Plan, error) {
	inv, err := inventory.Read(ctx, c, s, categories)
	if err == nil {
		err = inventory.CheckAbsent(inv) // each has to have it: where nothing is chosen, something is granted on everything
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
