package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	faultapi "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// formatHAR is the output format of HTTP archives.
const formatHAR = "har"

// filter chooses calls. The zero value lets all through.
type filter struct {
	client, method, vcenter string
	failed                  bool
}

func (f *filter) bind(d *command.Deps, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.client, "client", "", "only calls of this `CLIENT`: ccm, csi, govc, or a text in the User-Agent")
	flags.StringVar(&f.method, "method", "", "only calls of this `METHOD`, such as FindAllByUuid or '*/session'; * and ? are wildcards")
	flags.StringVar(&f.vcenter, "vcenter", "", "only calls to this `VCENTER`")
	flags.BoolVar(&f.failed, "failed", false, "only calls that ended with a fault, an error or no answer")
	// Their only error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc("client", cobra.FixedCompletions([]string{"ccm", "csi", "govc"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("vcenter", complete.Flag(complete.VCenters(d)))
}

// matches reports whether the filter lets a call through.
func (f *filter) matches(c *trace.Call) bool {
	match := gate.Match{Client: faultapi.ClientPattern(f.client)}
	return match.Caller(c.Client, c.User) && (f.method == "" || glob.Fold(f.method, c.Method)) && (f.vcenter == "" || f.vcenter == c.VCenter) &&
		(!f.failed || c.Failed())
}

type dumpOptions struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)
	secrets []string // of the variables

	file   string // "" asks a sandbox
	follow bool
	full   bool
	filter filter
	format string
}

// NewCmdDump returns the command; runF, when not nil, runs in its place.
func NewCmdDump(d *command.Deps, runF func(context.Context, *dumpOptions) error) *cobra.Command {
	o := &dumpOptions{streams: d.Streams, connect: d.Connect, secrets: secret.Variables(d.Getenv)}
	runF = command.Or(runF, runDump)
	cmd := &cobra.Command{
		Use:   "dump [FILE]",
		Short: "Print API calls with what was sent and answered",
		Long: `Print the API calls to vCenters in their order: the client, its user and
session, the method or path, the arguments, the answer. FILE is one that
"up --trace" wrote; without it, the calls are those of the running sandbox.

The default output is for readers: envelopes and namespaces are left out, long
values and lists are cut. -o json prints one object a line with whole bodies,
-o har an HTTP archive, which browsers open.`,
		Example: `  vsphere-sandbox calls dump --client ccm | less
  vsphere-sandbox calls dump -f --method 'Cns*' --full
  vsphere-sandbox calls dump run.trace --failed
  vsphere-sandbox calls dump run.trace -o har > run.har`,
		Args:              command.AtMostOne,
		ValidArgsFunction: complete.OneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = strings.Join(args, "")
			switch {
			case o.follow && o.file != "":
				return report.UsageError("vsphere-sandbox calls dump -f", "-f is for a running sandbox, not for a file")
			case o.follow && o.format == formatHAR:
				return report.UsageError("vsphere-sandbox calls dump -f -o json", "-o har is one document, which -f does not end")
			}
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "keep printing new calls")
	f.BoolVar(&o.full, "full", false, "cut nothing")
	o.filter.bind(d, cmd)
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML, formatHAR)
	return cmd
}

func runDump(ctx context.Context, o *dumpOptions) error {
	m := &mask.Mask{}
	m.Add(o.secrets...)
	from, t, err := open(ctx, o, m)
	if err != nil {
		return err
	}
	defer from.Close()
	p := &printer{o: o, w: masking{o.streams.Out, m}}
	if err := trace.Read(from, p.call); err != nil && !errors.Is(err, errOutput) {
		if t == nil {
			return unreadable(o.file, err)
		}
		return t.Explain(ctx, err, command.AnswerTime)
	}
	if ctx.Err() != nil && !o.follow {
		return ctx.Err()
	}
	if t != nil && o.follow && ctx.Err() == nil {
		fmt.Fprintf(o.streams.Err, "sandbox %q ended\n", t.Name)
	}
	return p.end()
}

// open returns the calls: a file, or those of a sandbox, with that.
func open(ctx context.Context, o *dumpOptions, m *mask.Mask) (io.ReadCloser, *command.Target, error) {
	if o.file != "" {
		f, err := os.Open(o.file)
		if err != nil {
			return nil, nil, unreadable(o.file, err)
		}
		return f, nil, nil
	}
	t, err := o.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	if _, err := command.Ask(ctx, t, func(c *api.Client, ctx context.Context) (struct{}, error) {
		return struct{}{}, c.Mask(ctx, m, t.Dir)
	}); err != nil {
		return nil, nil, err
	}
	from, err := t.Client.Trace(ctx, o.follow)
	if err != nil {
		if a, ok := errors.AsType[*api.Error](err); ok && a.Code == "no-trace" {
			return nil, nil, &report.Error{Code: a.Code, Message: fmt.Sprintf("sandbox %q keeps no trace of calls", t.Name), Try: a.Try, Exit: report.Prerequisite}
		}
		return nil, nil, t.Explain(ctx, err, command.AnswerTime)
	}
	return from, t, nil
}

func unreadable(file string, err error) error {
	return &report.Error{Code: "trace-unreadable", Message: fmt.Sprintf("%s: %v", file, err), Try: `a file that "vsphere-sandbox up --trace FILE" wrote`, Exit: report.Usage}
}

// errOutput ends a dump whose output is closed.
var errOutput = errors.New("output closed")

// printer prints the calls that are asked for.
type printer struct {
	o     *dumpOptions
	w     io.Writer
	n     int
	calls []trace.Call // for an archive
}

func (p *printer) call(c trace.Call) error {
	p.n++
	if !p.o.filter.matches(&c) {
		return nil
	}
	var err error
	switch p.o.format {
	case formatHAR:
		p.calls = append(p.calls, c)
	case output.JSON:
		enc := json.NewEncoder(p.w)
		enc.SetEscapeHTML(false)
		err = enc.Encode(c)
	case output.YAML:
		var b []byte
		if b, err = yaml.Marshal(c); err == nil {
			_, err = p.w.Write(append([]byte("---\n"), b...))
		}
	default:
		err = trace.Text{Full: p.o.full}.Call(p.w, p.n, &c)
	}
	if err != nil {
		return errors.Join(errOutput, err)
	}
	return nil
}

func (p *printer) end() error {
	if p.o.format != formatHAR {
		return nil
	}
	return trace.HAR(p.w, p.calls)
}

// masking writes text without what the sandbox knows to be a secret. Each write is a whole text.
type masking struct {
	w io.Writer
	m *mask.Mask
}

func (m masking) Write(p []byte) (int, error) {
	if _, err := m.w.Write(m.m.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
