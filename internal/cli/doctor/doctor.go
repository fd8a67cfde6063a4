package doctor

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/doctor"
)

type options struct {
	streams   *iostreams.Streams
	sandboxes command.Sandboxes
	machine   machine
	os, arch  string
	cpus      int

	containers containers
	name       func() (string, bool)
	find       func(context.Context) (command.Sandbox, error)
	now        func() time.Time

	fix    bool
	bundle string
	flags  output.Flags

	real                vcenterconfig.Flags
	kubeconfig, context string
	getenv              func(string) string
	nodes               func(ctx context.Context, kubeconfig, context string) (*doctor.Cluster, error)
}

// NewCmdDoctor returns the command; runF, when not nil, runs in its place.
func NewCmdDoctor(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, sandboxes: d.Sandboxes, machine: local{}, getenv: d.Getenv, nodes: readNodes}
	o.containers, o.name, o.find, o.now = local{}, d.Name, d.Find, d.Now
	o.os, o.arch = here()
	o.cpus = runtime.GOMAXPROCS(0)
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell whether this machine can run sandboxes, or what real vCenters lack",
		Long: `Tell whether this machine can run sandboxes: each check passes, warns or fails.
Limits are compared with what a sandbox of six nodes takes; "up" makes the same
checks for the sandbox that it is to boot.

With --fix, what crashed sandboxes left behind, processes and files, is cleared
away.

With --bundle, a bug report is written: versions, findings, kernel and limits,
and of every sandbox, or of that of --name, running or crashed, status,
topology, events, the end of each log, configuration, calls at the vCenters
and Kubernetes objects, never Secrets. Passwords, tokens, private keys and
kubeconfig credentials are masked wherever they stand; names are not. What
does not answer in time is named in its index.json.

With --vcenter-config it is real vCenters that are checked, and what is told is
what the cloud controller manager and the CSI driver will not be able to do
there: certificates, login, release, clock, privileges, tags, and of the chosen
VMs disk.enableUUID, hardware version, tools, hostnames, addresses and UUIDs.
It only reads. With --kubeconfig or --context the nodes of that cluster are
matched with the VMs, too: system UUID in either byte order, provider ID,
hostname, addresses, topology labels.

Exit status: 0 when nothing fails or a bug report is written, 2 for a bad flag
or vsphere.conf, 4 when a check fails.`,
		Example: `  vsphere-sandbox doctor
  vsphere-sandbox doctor --fix
  vsphere-sandbox doctor --bundle vsphere-sandbox-bug.tar.gz
  vsphere-sandbox doctor --vcenter-config vsphere.conf --folder k8s
  vsphere-sandbox doctor --vcenter-config env --tag env:prod --context prod
  vsphere-sandbox doctor --vcenter-config vsphere.conf -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	o.flags.Bind(cmd)
	cmd.Flags().BoolVar(&o.fix, "fix", false, "clear away what crashed sandboxes left behind")
	cmd.Flags().StringVar(&o.bundle, "bundle", "", "write a bug report to `FILE`.tar.gz, with every secret masked")
	o.real.Bind(cmd)
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "`FILE` with the cluster whose nodes are matched with the VMs (default: kubectl's)")
	cmd.Flags().StringVar(&o.context, "context", "", "`CONTEXT` of the cluster whose nodes are matched with the VMs (default: the current one)")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("context", cobra.NoFileCompletions)
	return cmd
}

// complete checks which flags go together.
func (o *options) complete(cmd *cobra.Command) error {
	if err := o.real.Unasked(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("bundle") {
		if err := checkBundle(o.bundle); err != nil {
			return err
		}
	}
	switch {
	case o.bundle != "" && o.fix:
		return report.UsageError("vsphere-sandbox doctor --bundle "+o.bundle+", and --fix afterwards", "--fix clears away what a bug report is about: --bundle goes first")
	case o.bundle != "" && o.real.Asked():
		return report.UsageError("vsphere-sandbox doctor --bundle "+o.bundle, "--bundle is about this machine and its sandboxes; what is found at real vCenters is printed, with -o json to a file")
	case !o.real.Asked() && (o.kubeconfig != "" || o.context != ""):
		return report.UsageError("--vcenter-config FILE", "--kubeconfig and --context are for nodes to be matched with VMs of real vCenters, and none is named")
	case o.real.Asked() && o.fix:
		return report.UsageError("vsphere-sandbox doctor --fix", "--fix is about this machine; nothing is mended at a vCenter")
	}
	return nil
}

func run(ctx context.Context, o *options) error {
	if o.real.Asked() {
		return vcenters(ctx, o)
	}
	found, err := look(ctx, o)
	if err != nil {
		return err
	}
	if o.bundle != "" {
		return o.report(ctx, found)
	}
	var failed, tries []string
	for _, f := range found {
		if f.Verdict == fail {
			failed = append(failed, fmt.Sprintf("%s: %s", f.Check, f.Message))
		}
		if f.Try != "" && f.Verdict == fail {
			tries = append(tries, f.Try)
		}
	}
	if err := output.List(o.streams.Out, o.flags, rows(), found); err != nil {
		return err
	}
	if len(failed) > 0 {
		return &report.Error{
			Code: "prerequisite-missing", Message: strings.Join(failed, "; "), Try: strings.Join(tries, "\n"), Exit: report.Prerequisite,
		}
	}
	return nil
}

// look runs all checks.
func look(ctx context.Context, o *options) ([]finding, error) {
	found := limits(ctx, o)
	for _, c := range append(checks(o), kindChecks(ctx, o)...) {
		f := c.run(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f.Check = c.name
		found = append(found, f)
	}
	return found, nil
}

func rows() output.Kind[finding] {
	return output.Kind[finding]{
		Name: "Check",
		Ref:  func(f finding) string { return "check/" + f.Check },
		Columns: []output.Column[finding]{
			{Header: "CHECK", Value: func(f finding) string { return f.Check }},
			{Header: "VERDICT", Value: func(f finding) string { return f.Verdict }},
			{Header: "FOUND", Value: func(f finding) string {
				if f.Try != "" {
					return f.Message + " (try: " + f.Try + ")"
				}
				return f.Message
			}},
		},
	}
}

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
