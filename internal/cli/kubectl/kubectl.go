package kubectl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubeconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type options struct {
	streams *iostreams.Streams
	status  func(context.Context) (api.Status, error)
	getenv  func(string) string
	setenv  func(name, value string) error
	release func()
	main    func(*iostreams.Streams, []string) int

	args []string
}

// NewCmdKubectl returns the command; runF, when not nil, runs in its place.
func NewCmdKubectl(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{
		streams: d.Streams, getenv: d.Getenv, setenv: os.Setenv, main: Main, release: d.Release,
		status: func(ctx context.Context) (api.Status, error) { return command.AskIt(ctx, d, (*api.Client).Status) },
	}
	runF = command.Or(runF, run)
	return &cobra.Command{
		Use:   "kubectl [ARGUMENT]...",
		Short: "Run the built-in kubectl against a sandbox",
		Long: `Run the built-in kubectl with the admin kubeconfig of a sandbox.

All arguments are passed to kubectl, so --name must come before the word
kubectl. The exit status is that of kubectl. Plugins are not supported.`,
		Example: `  vsphere-sandbox kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone
  vsphere-sandbox --name other kubectl describe node worker-west-1`,
		DisableFlagParsing: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			o.args = args
			return completion(cmd.Context(), o, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			return runF(cmd.Context(), o)
		},
	}
}

func run(ctx context.Context, o *options) error {
	if err := o.aim(ctx); err != nil && needsCluster(o.args) {
		return err
	}
	if o.release != nil {
		o.release() // kubectl handles Ctrl-C itself where it must
	}
	if status := o.main(o.streams, o.args); status != 0 {
		return report.Exit(status)
	}
	return nil
}

// aim points this process's environment at the sandbox: kubectl's config commands know no other way.
func (o *options) aim(ctx context.Context) error {
	s, err := o.status(ctx)
	if err != nil {
		return err
	}
	if err := kubeconfig.Check(s); err != nil {
		return err
	}
	if err := o.setenv("KUBECONFIG", s.Kubeconfig); err != nil {
		return err
	}
	// What kubectl remembers of an API server goes when the sandbox does: the next one may have the same port.
	if o.getenv("KUBECACHEDIR") != "" || s.Dir == "" {
		return nil
	}
	// kubectl itself would let the group in.
	cache := filepath.Join(s.Dir, "kubectl-cache")
	if err := os.Mkdir(cache, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return o.setenv("KUBECACHEDIR", cache)
}

// needsCluster reports whether arguments make no sense without one.
func needsCluster(args []string) bool {
	if len(args) == 0 || slices.Contains(args, "-h") || slices.Contains(args, "--help") {
		return false
	}
	switch args[0] {
	case "help", "options", "completion", "kustomize":
		return false
	case "version":
		return !slices.Contains(args, "--client") && !slices.Contains(args, "--client=true")
	}
	return true
}

// completion asks kubectl itself, whose hidden command answers with one word a line (and a tab and what it is), and
// last a colon and the directive.
func completion(ctx context.Context, o *options, typed string) ([]string, cobra.ShellCompDirective) {
	// Without a sandbox kubectl must not use the user's current cluster.
	if err := o.aim(ctx); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out bytes.Buffer
	args := append(append([]string{cobra.ShellCompRequestCmd}, o.args...), typed)
	if o.main(&iostreams.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard}, args) != 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words, last, found := cutLast(strings.TrimSpace(out.String()), ":")
	directive, err := strconv.Atoi(last)
	if !found || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return strings.FieldsFunc(words, func(r rune) bool { return r == '\n' }), cobra.ShellCompDirective(directive)
}

// cutLast cuts s at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// exited is the panic that stands for the end of the process in the middle of a kubectl command.
type exited int

// Main runs kubectl with arguments, those after its name, and returns its exit status. Plugins are not looked for. It
// is not for several goroutines: kubectl's error handler is global.
func Main(streams *iostreams.Streams, args []string) (status int) {
	defer cmdutil.DefaultBehaviorOnFatal()
	cmdutil.BehaviorOnFatal(func(message string, code int) {
		if message = strings.TrimSuffix(message, "\n"); message != "" {
			fmt.Fprintln(streams.Err, message)
		}
		panic(exited(code))
	})
	defer func() {
		switch p := recover().(type) {
		case nil:
		case exited:
			status = int(p)
		default:
			panic(p)
		}
	}()
	if err := cli.RunNoErrOutput(newCommand(streams, args)); err != nil {
		cmdutil.CheckErr(err)
	}
	return 0
}

func newCommand(streams *iostreams.Streams, args []string) *cobra.Command {
	cmd := kubectlcmd.NewDefaultKubectlCommandWithArgs(kubectlcmd.KubectlOptions{
		Arguments: append([]string{"kubectl"}, args...), // for the user's own kuberc
		IOStreams: genericiooptions.IOStreams{In: streams.In, Out: streams.Out, ErrOut: streams.Err},
	})
	cmd.SetArgs(args)
	cmd.SetIn(streams.In)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.Err)
	return cmd
}
