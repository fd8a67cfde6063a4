package explain

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	name   string
	format string
}

// Explanation is what is told of a volume, as programs get it.
type Explanation struct {
	Volume api.Volume `json:"volume"`
	// Events are those about it, its attachments and the pods that use it, and what they come from, oldest first.
	Events []event.Event `json:"events"`
}

// NewCmdVolume returns the command; runF, when not nil, runs in its place.
func NewCmdVolume(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "volume VOLUME",
		Short: "Tell where a volume is, what it waits for, and how it came there",
		Long: `Tell of a volume how it hangs together from the claim to the disk of a VM, what
its next step waits for, what ends the wait, and what has happened to it.

Name it by its claim, its PersistentVolume or its id in CNS.`,
		Example:           "  vsphere-sandbox explain volume data-web-0",
		Args:              command.ExactlyOne("VOLUME"),
		ValidArgsFunction: complete.Once(complete.Volumes(d)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runF(cmd.Context(), o)
		},
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func run(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	all, err := command.Ask(ctx, t, (*api.Client).Volumes)
	if err != nil {
		return err
	}
	picked, err := command.Pick("volume", all, []string{o.name}, func(v api.Volume) []string {
		_, claim, _ := strings.Cut(v.Claim, "/")
		return []string{v.Name, v.Claim, claim, v.Handle}
	})
	if err != nil {
		return err
	}
	e := Explanation{Volume: picked[0], Events: []event.Event{}}
	var seen []event.Event
	_, err = command.Ask(ctx, t, func(c *api.Client, ctx context.Context) (struct{}, error) {
		return struct{}{}, c.Events(ctx, 0, false, func(ev event.Event, _ uint64) error {
			seen = append(seen, ev)
			return nil
		})
	})
	if err != nil {
		return err
	}
	e.Events = append(e.Events, history(picked[0], seen)...)
	if o.format == output.JSON || o.format == output.YAML {
		return output.Object(o.streams.Out, o.format, "VolumeExplanation", e)
	}
	return tell(o.streams.Out, e)
}

// history picks the events about the volume, and those that they come from, as far as the log knows.
func history(v api.Volume, all []event.Event) (picked []event.Event) {
	wanted := map[uint64]bool{}
	for _, e := range slices.Backward(all) { // a cause is older than what comes from it
		if !wanted[e.Seq] && !about(v, e) {
			continue
		}
		picked = append(picked, e)
		if e.Cause != 0 {
			wanted[e.Cause] = true
		}
	}
	slices.Reverse(picked)
	return picked
}

// about tells whether an event is about the volume.
func about(v api.Volume, e event.Event) bool {
	switch e.Object.Kind {
	case "Volume", "PersistentVolume":
		return e.Object.Name == v.Handle || e.Object.Name == v.Name
	case "PersistentVolumeClaim":
		return e.Object.Name == v.Claim
	case "VolumeAttachment":
		return strings.HasPrefix(e.Object.Name, v.Name+" at ")
	case "Pod":
		return slices.Contains(v.Pods, e.Object.Name)
	}
	return false
}

func tell(w io.Writer, e Explanation) error {
	v := e.Volume
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s:\t%s\n", name, value)
		}
	}
	line("Claim", v.Claim)
	if v.Name != v.Claim {
		line("PersistentVolume", v.Name)
	}
	line("StorageClass", v.StorageClass)
	line("CNS volume", v.Handle)
	line("Size", output.Bytes(v.CapacityBytes))
	if v.Datastore != "" {
		line("Datastore", v.Datastore+" of vCenter "+v.VCenter)
	}
	line("VM with the disk", v.VM)
	switch {
	case v.Node != "" && v.Attached:
		line("Node", v.Node+" (attached)")
	case v.Node != "":
		line("Node", v.Node+" (to be attached)")
	}
	line("Pods", strings.Join(v.Pods, ", "))
	line("State", string(v.State))
	line("Waits for", v.Waits)
	line("Try", v.Try)
	if err := t.Flush(); err != nil || len(e.Events) == 0 {
		return err
	}
	fmt.Fprintln(w, "\nWhat happened:")
	for _, ev := range e.Events {
		fmt.Fprintf(t, "  %s\t#%d\t%s\t%s\t%s\n", ev.Time.Format("15:04:05.000"), ev.Seq, ev.Kind, ev.Object.Name, ev.Message)
	}
	return t.Flush()
}
