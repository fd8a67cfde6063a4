package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type options struct {
	streams *iostreams.Streams
	now     func() time.Time
	find    func(context.Context) (command.Sandbox, error)
	ask     func(context.Context) (api.Status, error)

	format string
}

// NewCmdStatus returns the command; runF, when not nil, runs in its place.
func NewCmdStatus(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, now: d.Now, find: d.Find, ask: func(ctx context.Context) (api.Status, error) {
		return command.AskIt(ctx, d, (*api.Client).Status)
	}}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the health of a sandbox, its vCenters, nodes and components",
		Long: `Show the phase of a sandbox, its vCenters, nodes and components.

A sandbox is healthy when it has booted, every node of its topology is
registered, initialized and ready, every component runs, and every vCenter can
be reached. Otherwise the command prints what is wrong and exits with 3, also if
you caused the problem with a fault.

For a sandbox that crashed, it prints the cause and where logs, events and
recording are kept until "down", and exits with 3.`,
		Example: `  vsphere-sandbox status
  vsphere-sandbox status --name other -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.Or(runF, run)(cmd.Context(), o)
		},
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.Wide, output.JSON, output.YAML, output.Names)
	return cmd
}

func run(ctx context.Context, o *options) error {
	if found, err := o.find(ctx); err != nil {
		return err
	} else if !found.Running {
		if err := printEnded(o.streams.Out, o.format, o.now(), found); err != nil {
			return err
		}
		err := found.NotRunning(report.Degraded)
		if e := (*report.Error)(nil); errors.As(err, &e) {
			e.Err = nil // it has been printed
		}
		return err
	}
	s, err := o.ask(ctx)
	if err != nil {
		return err
	}
	if err := print(o.streams.Out, o.format, o.now(), s); err != nil {
		return err
	}
	if p := problems(s); len(p) > 0 {
		return degraded(p)
	}
	return nil
}

func degraded(problems []string) error {
	e := &report.Error{Code: "degraded", Exit: report.Degraded}
	for i, p := range problems {
		if i > 0 {
			e.Message += "; "
		}
		e.Message += p
	}
	e.Try = command.Program + " events"
	return e
}

func print(w io.Writer, format string, now time.Time, s api.Status) error {
	switch format {
	case output.JSON, output.YAML:
		return output.Object(w, format, "Status", s)
	case output.Names:
		_, err := fmt.Fprintln(w, "sandbox/"+s.Name)
		return err
	}
	var b strings.Builder
	field := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-14s%s\n", name+":", printable.Line(fmt.Sprintf(format, args...)))
	}
	field("Name", "%s", s.Name)
	field("Phase", "%s", phase(s))
	field("Age", "%s", output.Age(now, s.StartedAt))
	field("Topology", "%s", s.Topology)
	field("Speed", "%g", s.Speed)
	if g := ground(s.Ground); g != "" {
		field("Ground", "%s", g)
	}
	if s.Server == "" && s.Phase == api.Ready {
		field("Kubernetes", "none: vCenters only")
	} else {
		field("Kubernetes", "%s at %s, context %s", s.KubernetesVersion, s.Server, s.Context)
		field("Nodes", "%d wanted, %d registered, %d initialized, %d ready",
			s.Nodes.Wanted, s.Nodes.Registered, s.Nodes.Initialized, s.Nodes.Ready)
	}
	field("Directory", "%s", s.Dir)
	if format == output.Wide {
		field("Kubeconfig", "%s", s.Kubeconfig)
		if s.Scheduler != "" {
			field("Secure ports", "controller manager %s, scheduler %s", s.ControllerManager, s.Scheduler)
		}
		field("Process", "%d, %s", s.PID, s.Version)
	}
	flags := output.Flags{Format: format}
	if len(s.VCenters) > 0 {
		b.WriteByte('\n')
		if err := output.List(&b, flags, tables.VCenters(), s.VCenters); err != nil {
			return err
		}
	}
	if len(s.Components) > 0 {
		b.WriteByte('\n')
		if err := output.List(&b, flags, tables.Components(now), s.Components); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ended is what is known of a sandbox that does not run.
type ended struct {
	Name      string         `json:"name"`
	Phase     string         `json:"phase"`
	Topology  string         `json:"topology,omitempty"`
	StartedAt time.Time      `json:"startedAt,omitzero"`
	Dir       string         `json:"dir"`
	Crash     *command.Crash `json:"crash,omitempty"`
}

func printEnded(w io.Writer, format string, now time.Time, s command.Sandbox) error {
	switch format {
	case output.JSON, output.YAML:
		return output.Object(w, format, "Status", ended{s.Name, s.State(), s.Topology, s.StartedAt, s.Dir, s.Crash})
	case output.Names:
		_, err := fmt.Fprintln(w, "sandbox/"+s.Name)
		return err
	}
	var b strings.Builder
	field := func(name, value string) { fmt.Fprintf(&b, "%-14s%s\n", name+":", value) }
	field("Name", s.Name)
	field("Phase", s.State())
	if !s.StartedAt.IsZero() {
		field("Started", output.Age(now, s.StartedAt)+" ago")
	}
	field("Topology", s.Topology)
	field("Directory", s.Dir)
	if s.Crash != nil {
		field("Ended by", strings.ReplaceAll(s.Crash.Text(), "\n", "\n"+strings.Repeat(" ", 10)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func phase(s api.Status) string {
	switch {
	case s.Step != "":
		return fmt.Sprintf("%s: %s", s.Phase, s.Step)
	case s.Phase == api.Ready && s.ReadyAt != nil:
		return fmt.Sprintf("%s, after %.1fs", s.Phase, s.ReadyAt.Sub(s.StartedAt).Seconds())
	}
	return string(s.Phase)
}

// problems returns why a sandbox is not healthy. The components of nodes are covered by the count of nodes: one with a VM
// that is off is stopped for good reason.
func problems(s api.Status) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if s.Phase != api.Ready {
		step := ""
		if s.Step != "" {
			step = " (" + s.Step + ")"
		}
		add("the sandbox is %s%s", s.Phase, step)
	}
	for _, v := range s.VCenters {
		switch {
		case v.Gate != "up":
			add("vcenter %s is %s", v.Name, tables.Gate(v))
		case !v.Watched && s.Phase == api.Ready:
			add("what is known of vcenter %s is out of date", v.Name)
		}
	}
	for _, c := range s.Components {
		if c.State != "running" && !strings.HasPrefix(c.Name, "node/") {
			add("%s is %s", c.Name, c.State)
		}
	}
	n := s.Nodes
	for _, count := range []struct {
		have int
		what string
	}{{n.Registered, "registered"}, {n.Initialized, "initialized"}, {n.Ready, "ready"}} {
		if count.have < n.Wanted {
			add("%d of %d nodes %s not %s", n.Wanted-count.have, n.Wanted, isAre(n.Wanted-count.have), count.what)
			break // what is not registered is not ready either
		}
	}
	return list
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// ground says what a sandbox stands on: "cluster of kind, containers as nodes, real vCenters (read-only)". It is "" for a sandbox of
// another version, which does not tell.
func ground(g api.Ground) string {
	var parts []string
	cluster := map[string]string{
		api.ClusterEmbedded: "embedded cluster", api.ClusterKind: "cluster of kind", api.ClusterPod: "existing cluster",
		api.ClusterExisting: "existing cluster",
		api.ClusterNone:     "no cluster",
	}
	nodes := map[string]string{
		api.NodesHollow: "hollow nodes", api.NodesLight: "light nodes", api.NodesMixed: "hollow and light nodes",
		api.NodesContainer: "containers as nodes", api.NodesReal: "real nodes",
	}
	if g.Cluster == api.ClusterKind {
		nodes[api.NodesMixed] = "containers and light nodes"
	}
	for _, part := range []string{cmp.Or(cluster[g.Cluster], g.Cluster), cmp.Or(nodes[g.Nodes], g.Nodes)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if g.Inventory != "" {
		vcenters := g.Inventory + " vCenters"
		if real := g.Real(); real != "" {
			vcenters += " (" + real + ")"
		}
		parts = append(parts, vcenters)
	}
	return strings.Join(parts, ", ")
}
