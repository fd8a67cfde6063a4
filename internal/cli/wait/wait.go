package wait

import (
	"context"
	"errors"
	"fmt"
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
	if runF == nil {
		runF = run
	}
	var texts []string
	cmd := &cobra.Command{
		Use:   "wait --for=CONDITION...",
		Short: "Wait until something is so",
		Long: `Wait until all conditions hold at once. They are looked at whenever something
happens. A condition is one of

  ready                      the sandbox has booted and every node is ready
  initialized                every node has been initialized by the CCM
  ccm=healthy                the CCM is, and each of several
  node/NAME=Ready            also NotReady (False or Unknown), Unknown,
                             initialized, registered, deleted
  node/NAME:taint=KEY        the node has that taint; KEY may lack its domain
  node/NAME:no-taint=KEY     the node does not
  vm/NAME=on                 also off, suspended, deleted
  vcenter/NAME=up            also down, slow, hung

The exit status is 3 when the time is over; the nodes as they are then go to
standard error.`,
		Example: `  vsphere-sandbox wait --for=ready
  vsphere-sandbox wait --for=node/worker-west-1=NotReady --for=node/worker-west-1:taint=shutdown --timeout 30s`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(texts) == 0 {
				return report.UsageError("--for=ready", "wait needs something to wait for")
			}
			if o.timeout <= 0 {
				return report.UsageError("--timeout 60s", "--timeout %s is no time to wait", o.timeout)
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
	cmd.Flags().StringArrayVar(&texts, "for", nil, "the `CONDITION` to wait for; several must hold at once")
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
