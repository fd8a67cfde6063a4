// Package explain is the commands that tell in words how something has come to be as it is.
package explain

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdExplain returns the group of commands.
func NewCmdExplain(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "explain",
		Short: "Tell why a node, a VM or a volume is as it is, with the evidence",
		Long: `Tell in words why something is as it is: what a person would ask of it now, the
answer to each question, and what the answer rests on.

The evidence is gathered when you ask, from the vCenters, the API server, the
cloud-config, the event log and the log of the cloud controller manager. What
cannot be asked is said to be unknown (?). What is gone can be explained, too,
as long as the event log remembers it.`,
		Example: `  vsphere-sandbox explain node worker-west-1
  vsphere-sandbox explain vm us/worker-west-1
  vsphere-sandbox explain volume data-web-0`,
	}, NewCmdNode(d, nil), NewCmdVM(d, nil), NewCmdVolume(d, nil))
}

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	subject api.Subject
	format  string
}

// Explanation is what is told, as programs get it.
type Explanation struct {
	Subject   api.Subject    `json:"subject"`
	Summary   string         `json:"summary"`
	Questions []api.Question `json:"questions"`
	// Volume is set when it is one.
	Volume *api.Volume `json:"volume,omitempty"`
	// Events are those about it, and what they come from, oldest first.
	Events []event.Event `json:"events"`
}

// NewCmdNode returns the command; runF, when not nil, runs in its place.
func NewCmdNode(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, "node", &cobra.Command{
		Use:   "node NODE",
		Short: "Tell why a node is not ready, not initialized, without a zone, tainted or gone",
		Long: `Tell why a node is ready or not and initialized or not, where its region, zone
and addresses come from, which VM it is, who put each of its taints there and
what takes it away, and which faults touch it.

A node that was deleted is explained from what the log remembers: what the cloud
controller manager asked, and what it was told. Of a VM that should be a node
and is none, it tells why not.`,
		Example: `  vsphere-sandbox explain node worker-west-1
  vsphere-sandbox explain node worker-west-1 -o json`,
		ValidArgsFunction: complete.Once(complete.Nodes(d)),
	}, runF)
}

// NewCmdVM returns the command; runF, when not nil, runs in its place.
func NewCmdVM(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd := newCmd(d, "vm", &cobra.Command{
		Use:   "vm VM",
		Short: "Tell why a VM is on or off, what its guest reports, and which node it is",
		Long: `Tell who powered a VM on or off, what its guest reports, which node it is or why
it is none, which disks and tags it has, and which faults touch it.

Name a VM as NAME, HOSTNAME, VCENTER/NAME or by its inventory path; one that was
destroyed as NAME or VCENTER/NAME.`,
		Example:           "  vsphere-sandbox explain vm us/worker-west-1",
		ValidArgsFunction: complete.Once(complete.VMs(d)),
	}, runF)
	return cmd
}

// newCmd returns a command with what all of them have.
func newCmd(d *command.Deps, kind string, cmd *cobra.Command, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect, subject: api.Subject{Kind: kind}}
	if runF == nil {
		runF = run
	}
	cmd.Args = command.ExactlyOne(map[string]string{"node": "NODE", "vm": "VM", "volume": "VOLUME"}[kind])
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.subject.Name = args[0]
		return runF(cmd.Context(), o)
	}
	if kind == "vm" {
		cmd.Flags().StringVar(&o.subject.VCenter, "vcenter", "", "the `VCENTER` of the VM, where names repeat")
		// Cannot fail: the flag was added in the line above.
		_ = cmd.RegisterFlagCompletionFunc("vcenter", complete.Flag(complete.VCenters(d)))
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

// kinds are what explanations are called as objects.
var kinds = map[string]string{"node": "NodeExplanation", "vm": "VMExplanation", "volume": "VolumeExplanation"}

func run(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	e, err := command.Ask(ctx, t, func(c *api.Client, ctx context.Context) (api.Explanation, error) {
		return c.Explain(ctx, o.subject)
	})
	if err != nil {
		return err
	}
	if o.format == output.JSON || o.format == output.YAML {
		return output.Object(o.streams.Out, o.format, kinds[o.subject.Kind], Explanation{
			Subject: e.Subject, Summary: e.Summary, Questions: e.Questions, Volume: e.Volume, Events: e.Events,
		})
	}
	return tell(o.streams.Out, e)
}
