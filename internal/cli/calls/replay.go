package calls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

type replayOptions struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	file     string
	to       string
	patience time.Duration
	filter   filter
	format   string
}

// NewCmdReplay returns the command; runF, when not nil, runs in its place.
func NewCmdReplay(d *command.Deps, runF func(context.Context, *replayOptions) error) *cobra.Command {
	o := &replayOptions{streams: d.Streams, connect: d.Connect}
	runF = command.Or(runF, runReplay)
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Send recorded API calls again and compare the answers",
		Long: `Send the calls of a trace to the vCenters of the running sandbox, one after the
other, and compare the answers by structure: status, fault, the elements that
are there. Values are not compared. FILE is one that "up --trace" wrote, of
these vCenters, of others or of real ones.

Each vCenter of the trace is the one with that name, or the one of --to. Logins
are those of the sandbox. Sessions and references that a vCenter returned stand
for the recorded ones in later calls. Calls change the inventory as they did.

Not sent: calls with a masked secret other than logins, calls that a fault
affected, and files. A long poll that has no update is given up after
--patience.

Exit status:
  0  every answer that was compared has the recorded structure
  3  an answer differs`,
		Example: `  vsphere-sandbox calls replay run.trace
  vsphere-sandbox calls replay real.trace --to us --client ccm`,
		Args:              command.ExactlyOne("FILE"),
		ValidArgsFunction: complete.OneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			if o.patience <= 0 {
				return report.UsageError("--patience 2s", "--patience %s: want more than 0", o.patience)
			}
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "send all calls to this `VCENTER`")
	f.DurationVar(&o.patience, "patience", 2*time.Second, "how long to wait for one answer")
	_ = cmd.RegisterFlagCompletionFunc("to", complete.Flag(complete.VCenters(d))) // its only error is an unknown flag
	o.filter.bind(d, cmd)
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

// result is one call of a replay, for -o json.
type result struct {
	Call        int      `json:"call"`
	VCenter     string   `json:"vcenter"`
	Method      string   `json:"method"`
	Skipped     string   `json:"skipped,omitempty"`
	Differences []string `json:"differences,omitempty"`
}

func runReplay(ctx context.Context, o *replayOptions) error {
	calls, err := o.read()
	if err != nil {
		return err
	}
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	access, err := command.Ask(ctx, t, (*api.Client).Access)
	if err != nil {
		return err
	}
	targets, done, err := o.targets(access, calls)
	if err != nil {
		return err
	}
	defer done()
	results := []result{}
	different, skipped, n := 0, 0, 0
	err = trace.Replay(ctx, calls, targets, func(out trace.Outcome) error {
		n++
		switch {
		case out.Skipped != "":
			skipped++
		case len(out.Differences) > 0:
			different++
		}
		results = append(results, result{n, out.Call.VCenter, out.Call.Method, out.Skipped, out.Differences})
		if o.format != output.Text || out.Skipped == "" && len(out.Differences) == 0 {
			return nil
		}
		if out.Skipped != "" {
			_, err := fmt.Fprintf(o.streams.Out, "#%d %s: not compared: %s\n", n, out.Call.Method, out.Skipped)
			return err
		}
		if _, err := fmt.Fprintf(o.streams.Out, "#%d %s: differs\n", n, out.Call.Method); err != nil {
			return err
		}
		for _, d := range out.Differences {
			if _, err := fmt.Fprintf(o.streams.Out, "    %s\n", d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if o.format != output.Text {
		err = output.Object(o.streams.Out, o.format, "Replay", map[string]any{"calls": results})
	} else {
		_, err = fmt.Fprintf(o.streams.Out, "%d calls: %d as recorded, %d different, %d not compared\n", n, n-different-skipped, different, skipped)
	}
	if err == nil && different > 0 {
		return report.Exit(report.Degraded)
	}
	return err
}

func (o *replayOptions) read() (calls []trace.Call, err error) {
	f, err := os.Open(o.file)
	if err != nil {
		return nil, unreadable(o.file, err)
	}
	defer f.Close()
	err = trace.Read(f, func(c trace.Call) error {
		if o.filter.matches(&c) {
			calls = append(calls, c)
		}
		return nil
	})
	if err != nil {
		return nil, unreadable(o.file, err)
	}
	return calls, nil
}

// targets returns a target for each vCenter of the trace that the sandbox has.
func (o *replayOptions) targets(access []api.Access, calls []trace.Call) (map[string]trace.Target, func(), error) {
	targets := map[string]trace.Target{}
	var names []string
	transports := []*http.Transport{}
	for _, a := range access {
		names = append(names, a.VCenter)
		u, err := url.Parse(a.URL)
		if err != nil {
			return nil, nil, err
		}
		u.User = url.UserPassword(a.User, a.Password)
		pool := x509.NewCertPool()
		if ca, err := os.ReadFile(a.CAFile); err == nil { // else the certificate is not verified, and the call says so
			pool.AppendCertsFromPEM(ca)
		}
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
		transports = append(transports, transport)
		target := trace.Target{URL: u, Transport: transport, Patience: o.patience}
		targets[a.VCenter] = target
	}
	if o.to != "" && targets[o.to].URL == nil {
		return nil, nil, command.NotFound("vcenter", o.to, names)
	}
	if o.to != "" {
		all := targets[o.to]
		for _, c := range calls {
			targets[c.VCenter] = all
		}
	}
	return targets, func() {
		for _, t := range transports {
			t.CloseIdleConnections()
		}
	}, nil
}
