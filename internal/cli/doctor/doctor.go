package doctor

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubeconfig"
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
	runF = command.Or(runF, run)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine, or real vCenters, and write bug reports",
		Long: `Check whether this machine can run sandboxes. Each check passes, warns or fails;
limits are compared with what a sandbox of six nodes needs. "up" runs the same
checks for the sandbox that it starts.

--fix          ends processes and deletes files that crashed sandboxes left

--bundle       writes a bug report: versions, findings, kernel and limits, and
               for every sandbox (or the one of --name) status, topology,
               events, logs, configuration, vCenter calls and Kubernetes
               objects. Secrets are left out. Passwords, tokens, private keys
               and kubeconfig credentials are masked; names are not. Its
               index.json lists what could not be collected in time.

--vcenter-config
               checks real vCenters instead, for the CCM and the CSI driver:
               certificates, login, release, clock, privileges, tags, and for
               the selected VMs disk.enableUUID, hardware version, tools,
               hostnames, addresses and UUIDs. It only reads. With --kubeconfig
               or --context, it also matches the nodes of that cluster with the
               VMs: system UUID in both byte orders, provider ID, hostname,
               addresses, topology labels.

Exit status:
  0    no check failed, or the bug report was written
  2    wrong flag or vsphere.conf
  4    a check failed`,
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
	cmd.Flags().BoolVar(&o.fix, "fix", false, "remove what crashed sandboxes left behind")
	cmd.Flags().StringVar(&o.bundle, "bundle", "", "write a bug report to `FILE`.tar.gz, with every secret masked")
	o.real.Bind(cmd)
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster to match with the VMs (default: that of kubectl)")
	cmd.Flags().StringVar(&o.context, "context", "", "`CONTEXT` of the cluster to match with the VMs (default: the current one)")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("context", cobra.NoFileCompletions)
	return cmd
}

// complete checks which flags go together.
func (o *options) complete(cmd *cobra.Command) error {
	if err := o.real.CheckUnset(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("bundle") {
		if err := checkBundle(o.bundle); err != nil {
			return err
		}
	}
	switch {
	case o.bundle != "" && o.fix:
		return report.UsageError("vsphere-sandbox doctor --bundle "+o.bundle+", and --fix afterwards", "--fix removes what a bug report needs: run --bundle first")
	case o.bundle != "" && o.real.IsSet():
		return report.UsageError("vsphere-sandbox doctor --bundle "+o.bundle, "--bundle is for this machine and its sandboxes; the findings for real vCenters are printed")
	case !o.real.IsSet() && (o.kubeconfig != "" || o.context != ""):
		return report.UsageError("--vcenter-config FILE", "--kubeconfig and --context need --vcenter-config")
	case o.real.IsSet() && o.fix:
		return report.UsageError("vsphere-sandbox doctor --fix", "--fix is for this machine; it does not change vCenters")
	}
	return nil
}

func run(ctx context.Context, o *options) error {
	if o.real.IsSet() {
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
	if err := o.show(found); err != nil {
		return err
	}
	return unfit(found)
}

// show prints the findings: the table with why and what to try below what is not well, or another format.
func (o *options) show(found []doctor.Finding) error {
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

// readNodes reads the nodes of a cluster, that of a context in a kubeconfig; where either is empty, kubectl's rules find it.
func readNodes(ctx context.Context, file, name string) (*doctor.Cluster, error) {
	in, err := kubeconfig.Open(file, name, vcenterconfig.UserAgent(), nil)
	if err != nil {
		return nil, err
	}
	c := &doctor.Cluster{Name: in.Name}
	next := ""
	for {
		page, err := in.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 500, Continue: next})
		if err != nil {
			return nil, kubeconfig.Explain(ctx, "at "+in.Host, 0, err)
		}
		for i := range page.Items {
			c.Nodes = append(c.Nodes, doctor.NodeOf(&page.Items[i]))
		}
		if next = page.Continue; next == "" {
			return c, nil
		}
	}
}
