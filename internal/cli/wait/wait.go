package wait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/follow"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type options struct {
	streams *iostreams.Streams
	now     func() time.Time
	connect func(context.Context) (*command.Target, error)

	conditions []condition
	timeout    time.Duration
}

// NewCmdWait returns the command; runF, when not nil, runs in its place.
func NewCmdWait(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, now: d.Now, connect: d.Connect}
	runF = command.Or(runF, run)
	var texts []string
	cmd := &cobra.Command{
		Use:   "wait --for=CONDITION...",
		Short: "Wait for conditions of nodes, VMs, vCenters or the CCM",
		Long: `Wait until all conditions hold at the same time. A condition is one of:

  ready                      the sandbox has booted and every node is ready
  initialized                the CCM has initialized every node
  ccm=healthy                every replica of the CCM is healthy
  node/NAME=Ready            also NotReady (False or Unknown), Unknown,
                             initialized, registered, deleted
  node/NAME:taint=KEY        the node has this taint; KEY may omit the domain
  node/NAME:no-taint=KEY     the node does not have this taint
  vm/NAME=on                 also off, suspended, deleted
  vcenter/NAME=up            also down, slow, hung

When --timeout expires, the exit status is 3, and the states of the nodes are
printed on standard error.`,
		Example: `  vsphere-sandbox wait --for=ready
  vsphere-sandbox wait --for=node/worker-west-1=NotReady --for=node/worker-west-1:taint=shutdown --timeout 30s`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(texts) == 0 {
				return report.UsageError("--for=ready", "wait needs --for CONDITION")
			}
			if o.timeout <= 0 {
				return report.UsageError("--timeout 60s", "--timeout %s: want more than 0", o.timeout)
			}
			for _, text := range texts {
				c, err := parse(text)
				if err != nil {
					return err
				}
				o.conditions = append(o.conditions, c)
			}
			return runF(cmd.Context(), o)
		},
	}
	cmd.Flags().StringArrayVar(&texts, "for", nil, "`CONDITION` to wait for; repeat for several")
	cmd.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait")
	// Cannot fail: the flag was added in the lines above.
	_ = cmd.RegisterFlagCompletionFunc("for", completeFor(d))
	return cmd
}

var errTimeout = errors.New("the time is over")

func run(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	inner, cancel := context.WithTimeoutCause(ctx, o.timeout, errTimeout)
	defer cancel()
	var last world
	missing := o.unseen()
	err = follow.Each(inner, t, func() (bool, error) {
		w, err := look(inner, t)
		if err != nil {
			return false, err
		}
		last = w
		missing, err = o.judge(w)
		return len(missing) == 0, err
	})
	if err == nil || ctx.Err() != nil || inner.Err() == nil {
		return err
	}
	if last.status.Name != "" {
		if err := o.printWorld(last); err != nil {
			return err
		}
	}
	return &report.Error{
		Code: "timeout", Exit: report.Degraded, Message: fmt.Sprintf("not so after %s: %s", o.timeout, strings.Join(missing, "; ")),
		Try: command.Program + " events --since " + o.timeout.String(),
	}
}

// unseen says of every condition that nothing is known of it.
func (o *options) unseen() (missing []string) {
	for _, c := range o.conditions {
		missing = append(missing, c.text+" (the sandbox has not answered yet)")
	}
	return missing
}

// judge returns what is not as it is waited for.
func (o *options) judge(w world) (missing []string, err error) {
	for _, c := range o.conditions {
		ok, why, err := c.holds(w)
		if err != nil {
			return nil, err
		}
		if !ok {
			missing = append(missing, fmt.Sprintf("%s (%s)", c.text, why))
		}
	}
	return missing, nil
}

// look asks for everything, which is four small answers from a socket.
func look(ctx context.Context, t *command.Target) (world, error) {
	return command.Ask(ctx, t, func(c *api.Client, ctx context.Context) (w world, err error) {
		if w.status, err = c.Status(ctx); err != nil {
			return w, err
		}
		if w.nodes, err = c.Nodes(ctx); err != nil {
			return w, err
		}
		if w.vms, err = c.VMs(ctx); err != nil {
			return w, err
		}
		w.vcenters, err = c.VCenters(ctx)
		return w, err
	})
}

func (o *options) printWorld(w world) error {
	fmt.Fprintf(o.streams.Err, "sandbox %s is %s\n", w.status.Name, w.status.Phase)
	flags := output.Flags{Format: output.Plain}
	if err := output.List(o.streams.Err, flags, tables.VCenters(), w.vcenters); err != nil {
		return err
	}
	return output.List(o.streams.Err, flags, tables.Nodes(o.now()), w.nodes)
}

// completeFor completes a condition part by part: what it is about, its name, its state.
func completeFor(d *command.Deps) complete.Func {
	names := map[string]complete.Func{"node": complete.Nodes(d), "vm": complete.VMs(d), "vcenter": complete.VCenters(d)}
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		const more = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		kind, rest, found := strings.Cut(typed, "/")
		if !found || names[kind] == nil {
			return []string{"ready", "initialized", "ccm=healthy", "node/", "vm/", "vcenter/"}, more
		}
		var words []string
		if object, _, found := strings.Cut(rest, "="); found {
			for _, state := range states(kind) {
				words = append(words, kind+"/"+object+"="+state)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := names[kind](cmd, nil, "")
		for _, name := range all {
			words = append(words, kind+"/"+name+"=")
		}
		return words, more
	}
}

// world is what conditions are about.
type world struct {
	status   api.Status
	nodes    []api.Node
	vms      []api.VM
	vcenters []api.VCenter
}

// condition is one thing that is waited for.
type condition struct {
	text string
	// holds reports whether the condition holds; if not, why is the present state. An error means that it can never hold.
	holds func(world) (ok bool, why string, err error)
}

const syntax = `ready | initialized | node/NAME=STATE | node/NAME:taint=KEY | node/NAME:no-taint=KEY | vm/NAME=STATE | vcenter/NAME=STATE | ccm=healthy`

// states are those that can be waited for of a kind, nil for what is no kind.
func states(kind string) []string {
	switch kind {
	case "node":
		return []string{"Ready", "NotReady", "Unknown", "initialized", "registered", "deleted"}
	case "vm":
		return []string{"on", "off", "suspended", "deleted"}
	case "vcenter":
		return []string{"up", "down", "slow", "hung"}
	}
	return nil
}

// parse reads one --for.
func parse(text string) (condition, error) {
	object, want, hasState := strings.Cut(text, "=")
	switch {
	case text == "ready":
		return condition{text, allReady}, nil
	case text == "initialized":
		return condition{text, allInitialized}, nil
	case text == "ccm=healthy":
		return condition{text, ccmHealthy}, nil
	case !hasState:
		return condition{}, report.UsageError("--for='"+syntax+"'", "--for=%s is not a condition", text)
	}
	kind, name, _ := strings.Cut(object, "/")
	name, verb, hasVerb := cutLast(name, ":")
	if states(kind) == nil || name == "" || want == "" {
		return condition{}, report.UsageError("--for='"+syntax+"'", "--for=%s is not a condition", text)
	}
	if hasVerb {
		if kind != "node" || verb != "taint" && verb != "no-taint" {
			return condition{}, report.UsageError("--for=node/NAME:taint=KEY", "--for=%s is not a condition", text)
		}
		return condition{text, tainted(name, want, verb == "taint")}, nil
	}
	if !slices.Contains(states(kind), want) {
		return condition{}, report.UsageError(fmt.Sprintf("--for=%s/%s=%s", kind, name, strings.Join(states(kind), "|")),
			"--for=%s: there is no such state of a %s", text, kind)
	}
	switch kind {
	case "node":
		return condition{text, nodeIs(name, want)}, nil
	case "vm":
		return condition{text, vmIs(name, want)}, nil
	}
	return condition{text, vcenterIs(name, want)}, nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func allReady(w world) (bool, string, error) {
	n := w.status.Nodes
	if w.status.Phase != api.Ready {
		return false, strings.TrimSpace(fmt.Sprintf("the sandbox is %s %s", w.status.Phase, w.status.Step)), nil
	}
	return n.Ready >= n.Wanted && n.Initialized >= n.Wanted, fmt.Sprintf("%d of %d nodes are ready", min(n.Ready, n.Initialized), n.Wanted), nil
}

func allInitialized(w world) (bool, string, error) {
	n := w.status.Nodes
	return n.Initialized >= n.Wanted && n.Wanted > 0, fmt.Sprintf("%d of %d nodes are initialized", n.Initialized, n.Wanted), nil
}

// absent is the answer for a name that is not there: while booting it may come yet, later it is a mistake.
func absent(w world, kind, name string, names []string) (bool, string, error) {
	if w.status.Phase == api.Booting {
		return false, fmt.Sprintf("%s %q not found yet", kind, name), nil
	}
	return false, "", command.NotFound(kind, name, names)
}

// ccmHealthy is about every cloud controller manager: of several those that do not lead, too.
func ccmHealthy(w world) (bool, string, error) {
	var ill []string
	found := false
	for _, c := range w.status.Components {
		if !c.IsCCM() {
			continue
		}
		found = true
		if c.Health != "healthy" {
			ill = append(ill, strings.TrimSpace(c.Name+" "+c.Health))
		}
	}
	switch {
	case found:
		return len(ill) == 0, strings.Join(ill, ", "), nil
	case w.status.Phase == api.Booting:
		return false, "there is no cloud controller manager yet", nil
	}
	return false, "", &report.Error{Code: "not-found", Message: "the sandbox has no cloud controller manager", Try: command.Program + " ccm swap builtin"}
}

func findNode(w world, name string) (api.Node, bool) {
	i := slices.IndexFunc(w.nodes, func(n api.Node) bool { return n.Name == name || n.VM == name })
	if i < 0 {
		return api.Node{}, false
	}
	return w.nodes[i], true
}

func noNode(w world, name string) (bool, string, error) {
	var names []string
	for _, n := range w.nodes {
		names = append(names, n.Name, n.VM)
	}
	return absent(w, "node", name, names)
}

func nodeIs(name, want string) func(world) (bool, string, error) {
	return func(w world) (bool, string, error) {
		n, found := findNode(w, name)
		why := fmt.Sprintf("node %s is %s", name, readiness(n))
		switch {
		case want == "deleted":
			return !found || !n.Registered, why, nil
		case !found:
			return noNode(w, name)
		case want == "registered":
			return n.Registered, why, nil
		case want == "initialized":
			return n.Initialized, "node " + name + " is not initialized", nil
		case want == "NotReady": // as kubectl shows it, False or Unknown
			return n.Registered && n.Ready != "True", why, nil
		case want == "Ready":
			return n.Ready == "True", why, nil
		}
		return n.Ready == want, why, nil
	}
}

func readiness(n api.Node) string {
	switch r := tables.Ready(n); r {
	case "True":
		return "Ready"
	case "False", "":
		return "NotReady"
	default:
		return r
	}
}

// tainted judges a taint by its key, which may be given without its domain.
func tainted(name, key string, want bool) func(world) (bool, string, error) {
	return func(w world) (bool, string, error) {
		n, found := findNode(w, name)
		if !found {
			return noNode(w, name)
		}
		has := slices.ContainsFunc(n.Taints, func(t string) bool {
			k, _, _ := strings.Cut(t, ":")
			k, _, _ = strings.Cut(k, "=")
			return k == key || strings.HasSuffix(k, "/"+key)
		})
		why := "none"
		if len(n.Taints) > 0 {
			why = strings.Join(n.Taints, ", ")
		}
		return has == want, fmt.Sprintf("the taints of node %s: %s", name, why), nil
	}
}

func vmIs(name, want string) func(world) (bool, string, error) {
	return func(w world) (bool, string, error) {
		var names []string
		for _, v := range w.vms {
			if slices.Contains([]string{v.Name, v.Hostname, v.VCenter + "/" + v.Name, v.Path}, name) {
				return v.Power == want, fmt.Sprintf("vm %s is %s", name, v.Power), nil
			}
			names = append(names, v.Name)
		}
		if want == "deleted" {
			return true, "", nil
		}
		return absent(w, "VM", name, names)
	}
}

func vcenterIs(name, want string) func(world) (bool, string, error) {
	return func(w world) (bool, string, error) {
		var names []string
		for _, v := range w.vcenters {
			if v.Name == name {
				return v.Gate == want, fmt.Sprintf("vcenter %s is %s", name, v.Gate), nil
			}
			names = append(names, v.Name)
		}
		return absent(w, "vCenter", name, names)
	}
}
