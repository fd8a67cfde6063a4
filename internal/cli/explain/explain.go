// Package explain is the commands that tell in words how something has come to be as it is.
package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdExplain returns the group of commands.
func NewCmdExplain(d *command.Deps) *cobra.Command {
	group := command.Group(&cobra.Command{
		Use:   "explain",
		Short: "Explain the state of a node, VM, volume or Service, with evidence",
		Long: `Explain the state of a node, VM, volume or Service: the questions that an
operator would ask, the answer to each, and the evidence.

The evidence is gathered when you run the command: from the vCenters, the API
server, the cloud-config, the event log and the log of the CCM. What cannot be
read is marked unknown (?). Deleted objects can be explained while the event
log has their events.`,
		Example: `  vsphere-sandbox explain node worker-west-1
  vsphere-sandbox explain vm us/worker-west-1
  vsphere-sandbox explain volume data-web-0
  vsphere-sandbox explain service web`,
	}, NewCmdNode(d, nil), NewCmdVM(d, nil), NewCmdVolume(d, nil), NewCmdService(d, nil))
	unknown := group.Args
	group.Args = func(cmd *cobra.Command, args []string) error {
		err := unknown(cmd, args)
		if e := (*report.Error)(nil); errors.As(err, &e) && strings.HasSuffix(e.Try, "--help") { // no slip, but a name
			e.Message = fmt.Sprintf("say what %q is: explain node, explain vm, explain volume or explain service", args[0])
			e.Try = cmd.CommandPath() + " node " + shellescape.Quote(args[0])
		}
		return err
	}
	return group
}

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	subject api.Subject
	format  string
}

// Explanation is the answer, in its machine-readable form.
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
		Short: "Explain why a node is not ready, not initialized, tainted or deleted",
		Long: `Explain why a node is ready or not, initialized or not, where its region, zone
and addresses come from, which VM it is, which component set each taint and what
removes it, and which faults affect it.

For a deleted node, the event log shows what the CCM asked and which answers it
got. For a VM that should be a node, it explains why it is not one.`,
		Example: `  vsphere-sandbox explain node worker-west-1
  vsphere-sandbox explain node worker-west-1 -o json`,
		ValidArgsFunction: complete.Once(complete.Nodes(d)),
	}, runF)
}

// NewCmdVM returns the command; runF, when not nil, runs in its place.
func NewCmdVM(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd := newCmd(d, "vm", &cobra.Command{
		Use:   "vm VM",
		Short: "Explain why a VM is on or off, and which node it is",
		Long: `Explain who powered a VM on or off, what its guest reports, which node it is or
why it is none, its disks and tags, and which faults affect it.

VM is a NAME, HOSTNAME, VCENTER/NAME or inventory path. For a destroyed VM use
NAME or VCENTER/NAME.`,
		Example:           "  vsphere-sandbox explain vm us/worker-west-1",
		ValidArgsFunction: complete.Once(complete.VMs(d)),
	}, runF)
	return cmd
}

// newCmd returns a command with what all of them have.
func newCmd(d *command.Deps, kind string, cmd *cobra.Command, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect, subject: api.Subject{Kind: kind}}
	runF = command.Or(runF, run)
	cmd.Args = command.ExactlyOne(map[string]string{"node": "NODE", "vm": "VM", "volume": "VOLUME", "service": "SERVICE"}[kind])
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.subject.Name = args[0]
		return runF(cmd.Context(), o)
	}
	if kind == "vm" {
		cmd.Flags().StringVar(&o.subject.VCenter, "vcenter", "", "`VCENTER` of the VM, if names repeat")
		// Cannot fail: the flag was added in the line above.
		_ = cmd.RegisterFlagCompletionFunc("vcenter", complete.Flag(complete.VCenters(d)))
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

// kinds are what explanations are called as objects.
var kinds = map[string]string{"node": "NodeExplanation", "vm": "VMExplanation", "volume": "VolumeExplanation", "service": "ServiceExplanation"}

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
	return show(o.streams.Out, e)
}

// width is that of the narrowest terminal that is catered for.
const width = 80

// screen is the height of the smallest terminal that is catered for.
const screen = 24

// shown is how many events are printed: the newest.
const shown = 25

// verdicts are how evidence is marked, by what it says.
var verdicts = map[string]string{
	"ok":      "✓ ok     ",
	"missing": "✗ missing",
	"wrong":   "✗ wrong  ",
	"unknown": "? unknown",
	"":        "·        ",
}

// levels mark questions.
var levels = map[event.Level]string{event.Info: "✓", event.Warning: "!", event.Error: "✗"}

// show prints an explanation for people: the summary, each question with its answer and evidence, and what happened.
func show(w io.Writer, e api.Explanation) error {
	p := &page{}
	p.put("", "", e.Summary)
	if e.Volume != nil {
		p.WriteString("\n")
		if err := reportVolume(p, *e.Volume); err != nil {
			return err
		}
	}
	for _, q := range e.Questions {
		p.WriteString("\n")
		p.put(levels[q.Level]+" ", "  ", q.Ask)
		p.put("  ", "  ", capital(q.Answer)+".")
		for _, v := range q.Evidence {
			text := v.What + ": " + v.Found
			if v.Source != "" {
				text += " [" + v.Source + "]"
			}
			p.put("    "+verdicts[v.Verdict]+"  ", strings.Repeat(" ", 4+9+2), text)
		}
		if q.Try != "" {
			p.put("  Try: ", "       ", q.Try)
		}
	}
	p.history(e.Events)
	if strings.Count(p.String(), "\n") > screen { // the first line has scrolled away
		p.WriteString("\n")
		p.put("", "", e.Summary)
		for _, q := range e.Questions {
			if q.Level != event.Info && q.Try != "" {
				p.put("Try: ", "     ", q.Try)
				break
			}
		}
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// page is text that is being laid out.
type page struct{ strings.Builder }

// put writes a paragraph: first before its first line, further before all others. A word that is longer than a line is
// not cut: it may be something to copy.
func (p *page) put(first, further, text string) {
	line, used, empty := first, utf8.RuneCountInString(first), true
	for word := range strings.FieldsSeq(printable.Line(text)) {
		n := utf8.RuneCountInString(word)
		if !empty && used+1+n > width {
			p.WriteString(strings.TrimRight(line, " ") + "\n")
			line, used, empty = further, utf8.RuneCountInString(further), true
		}
		if !empty {
			line, used = line+" ", used+1
		}
		line, used, empty = line+word, used+n, false
	}
	p.WriteString(line + "\n")
}

// history prints events, each with how long it came after its cause.
func (p *page) history(events []event.Event) {
	if len(events) == 0 {
		return
	}
	p.WriteString("\nWhat happened:\n")
	if skipped := len(events) - shown; skipped > 0 {
		p.put("  ", "  ", fmt.Sprintf("(%d earlier events: -o json has them)", skipped))
	}
	at := map[uint64]time.Time{}
	for i, e := range events {
		at[e.Seq] = e.Time
		if i < len(events)-shown {
			continue
		}
		after := ""
		if cause, ok := at[e.Cause]; ok && e.Cause != 0 {
			after = fmt.Sprintf(" (+%s after #%d)", latency(e.Time.Sub(cause)), e.Cause)
		}
		object := e.Object.Name
		if e.Object.VCenter != "" && e.Object.VCenter != object {
			object = e.Object.VCenter + "/" + object
		}
		text := fmt.Sprintf("#%d %s %s: %s%s", e.Seq, e.Kind, object, e.Message, after)
		p.put("  "+e.Time.Format("15:04:05.000")+"  ", strings.Repeat(" ", 16), text)
	}
}

// latency is a duration as people read it.
func latency(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// capital begins a sentence.
func capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return text
	}
	return strings.ToUpper(string(r)) + text[n:]
}

// NewCmdVolume returns the command; runF, when not nil, runs in its place.
func NewCmdVolume(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, "volume", &cobra.Command{
		Use:   "volume VOLUME",
		Short: "Explain where a volume is and what it waits for",
		Long: `Explain a volume: the chain from its claim to the disk of a VM, what the next
step waits for, what ends the wait, and what happened to it.

VOLUME is a claim, a PersistentVolume or an ID in CNS.`,
		Example:           "  vsphere-sandbox explain volume data-web-0",
		ValidArgsFunction: complete.Once(complete.Volumes(d)),
	}, runF)
}

// NewCmdService returns the command; runF, when not nil, runs in its place.
func NewCmdService(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, "service", &cobra.Command{
		Use:   "service SERVICE",
		Short: "Explain where a Service answers, or why it has no address",
		Long: `Explain a Service: where clients outside the cluster reach it, why it has no
address or a port does not answer, and which pods answer.

SERVICE is NAME, if one namespace has it, or NAMESPACE/NAME.`,
		Example: `  vsphere-sandbox explain service web
  vsphere-sandbox explain service shop/web -o json`,
		ValidArgsFunction: complete.Once(complete.Services(d)),
	}, runF)
}

// reportVolume prints the row of a volume, from the claim to the pods.
func reportVolume(w io.Writer, v api.Volume) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s:\t%s\n", name, printable.Line(value))
		}
	}
	line("Claim", v.Claim)
	if v.Name != v.Claim {
		line("PersistentVolume", v.Name)
	}
	line("StorageClass", v.StorageClass)
	line("CNS volume", v.Handle)
	line("Name in CNS", v.CNSName)
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
	return t.Flush()
}
