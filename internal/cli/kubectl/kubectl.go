package kubectl

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubeconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubernetes"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type options struct {
	streams *iostreams.Streams
	status  func(context.Context) (api.Status, error)
	getenv  func(string) string
	setenv  func(name, value string) error
	release func()
	program func(context.Context, *iostreams.Streams, api.Status) (string, error)
	exec    func(program string, args ...string) error // does not return, but with an error

	args []string
}

func newOptions(d *command.Deps) *options {
	return &options{
		streams: d.Streams, getenv: d.Getenv, setenv: os.Setenv, release: d.Release, program: kubernetes.Program, exec: kubernetes.Exec,
		status: func(ctx context.Context) (api.Status, error) { return command.AskIt(ctx, d, (*api.Client).Status) },
	}
}

// NewCmdKubectl returns the command; runF, when not nil, runs in its place.
func NewCmdKubectl(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := newOptions(d)
	runF = command.Or(runF, run)
	return &cobra.Command{
		Use:   "kubectl [ARGUMENT]...",
		Short: "Run the built-in kubectl against a sandbox",
		Long: `Run kubectl of the sandbox's Kubernetes release with its admin kubeconfig.

All arguments are passed to kubectl, so --name must come before the word
kubectl. The exit status is that of kubectl. Plugins are not supported. For
a cluster that is not embedded it is the kubectl here, of the built-in
release and those of "kubernetes list", whose release is nearest. A topology
with a Supervisor has the context "supervisor", too.`,
		Example: `  vsphere-sandbox kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone
  vsphere-sandbox --name other kubectl describe node worker-west-1
  vsphere-sandbox kubectl --context supervisor get virtualmachines`,
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

// collect is kubectl's GOGC. Most commands end before they have made as much garbage, and take 10 to 20% less CPU time.
const collect = "400"

// nameFirst returns the error for arguments that begin with the flag --name, which would be passed to a program without it.
func (o *options) nameFirst(word string) error {
	if len(o.args) == 0 {
		return nil
	}
	flag, value, joined := strings.Cut(o.args[0], "=")
	if flag != "--name" {
		return nil
	}
	rest := o.args[1:]
	if !joined && len(rest) > 0 {
		value, rest = rest[0], rest[1:]
	}
	try := strings.Join(append([]string{command.Program, "--name", cmp.Or(value, "NAME"), word}, rest...), " ")
	return report.UsageError(try, "--name must come before the word %s", word)
}

func run(ctx context.Context, o *options) error {
	if err := o.nameFirst("kubectl"); err != nil {
		return err
	}
	s, err := o.aim(ctx)
	if err != nil && needsCluster(o.args) {
		return err
	}
	program, err := o.program(ctx, o.streams, s)
	if err != nil {
		return err
	}
	if o.getenv("GOGC") == "" {
		if err := o.setenv("GOGC", collect); err != nil {
			return err
		}
	}
	if o.release != nil {
		o.release() // kubectl handles Ctrl-C itself where it must
	}
	return o.exec(program, append([]string{contract.KubectlCommand}, o.args...)...)
}

// aim points this process's environment at the sandbox: kubectl's config commands know no other way.
func (o *options) aim(ctx context.Context) (api.Status, error) {
	s, err := o.status(ctx)
	if err != nil {
		return s, err
	}
	if err := kubeconfig.Check(s); err != nil {
		return s, err
	}
	files := s.Kubeconfig
	if supervisor := filepath.Join(s.Dir, "supervisor", "kubeconfig"); s.Dir != "" && exists(supervisor) {
		files += string(filepath.ListSeparator) + supervisor // its context is there to be named
	}
	if err := o.setenv("KUBECONFIG", files); err != nil {
		return s, err
	}
	// What kubectl remembers of an API server goes when the sandbox does: the next one may have the same port.
	if o.getenv("KUBECACHEDIR") != "" || s.Dir == "" {
		return s, nil
	}
	// kubectl itself would let the group in.
	cache := filepath.Join(s.Dir, "kubectl-cache")
	if err := os.Mkdir(cache, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return s, err
	}
	return s, o.setenv("KUBECACHEDIR", cache)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
	s, err := o.aim(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	program, err := o.program(ctx, &iostreams.Streams{Err: io.Discard}, s)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	args := append(append([]string{contract.KubectlCommand, cobra.ShellCompRequestCmd}, o.args...), typed)
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words, last, found := cutLast(strings.TrimSpace(string(out)), ":")
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
