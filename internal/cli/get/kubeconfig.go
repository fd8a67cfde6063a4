package get

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubeconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type kubeconfigOptions struct {
	streams *iostreams.Streams
	getenv  func(string) string
	status  func(context.Context) (api.Status, error)
	// name is the name of a sandbox that need not exist any more.
	name func(context.Context) (string, error)

	merge, unmerge bool
}

// NewCmdKubeconfig returns the command; runF, when not nil, runs in its place.
func NewCmdKubeconfig(d *command.Deps, runF func(context.Context, *kubeconfigOptions) error) *cobra.Command {
	o := &kubeconfigOptions{
		streams: d.Streams, getenv: d.Getenv,
		status: func(ctx context.Context) (api.Status, error) { return command.AskIt(ctx, d, (*api.Client).Status) },
		name: func(ctx context.Context) (string, error) {
			if name, asked := d.Name(); asked {
				return name, nil
			}
			s, err := d.Find(ctx)
			if report.Of(err).Code == "no-sandbox" {
				return command.DefaultName, nil
			}
			return s.Name, err
		},
	}
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the admin kubeconfig, or merge it into yours",
		Long: `Print the admin kubeconfig of a sandbox.

--merge    adds it to the file that kubectl uses (the first of $KUBECONFIG, else
           ~/.kube/config) and makes vsphere-sandbox-NAME the current context
--unmerge  removes it again, also after the sandbox is gone`,
		Example: `  vsphere-sandbox get kubeconfig > sandbox.kubeconfig
  vsphere-sandbox get kubeconfig --merge && kubectl get nodes
  vsphere-sandbox get kubeconfig --unmerge`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.merge && o.unmerge {
				return report.UsageError(command.Program+" get kubeconfig --merge", "--merge and --unmerge exclude each other")
			}
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			return runKubeconfig(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.merge, "merge", false, "merge it into your kubeconfig and make it current")
	cmd.Flags().BoolVar(&o.unmerge, "unmerge", false, "remove it from your kubeconfig")
	return cmd
}

func runKubeconfig(ctx context.Context, o *kubeconfigOptions) error {
	if o.unmerge {
		return unmerge(ctx, o)
	}
	s, err := o.status(ctx)
	if err != nil {
		return err
	}
	if err := kubeconfig.Check(s); err != nil {
		return err
	}
	text, err := os.ReadFile(s.Kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if !o.merge {
		_, err := o.streams.Out.Write(text)
		return err
	}
	path, err := kubeconfig.Path(o.getenv)
	if err != nil {
		return err
	}
	if err := kubeconfig.Merge(ctx, path, text); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Err, "context %s is in %s, and current\n", s.Context, path)
	return nil
}

func unmerge(ctx context.Context, o *kubeconfigOptions) error {
	name, err := o.name(ctx)
	if err != nil {
		return err
	}
	path, err := kubeconfig.Path(o.getenv)
	if err != nil {
		return err
	}
	found, err := kubeconfig.Unmerge(ctx, path, kubeconfig.Context(name))
	if err != nil {
		return err
	}
	if found {
		fmt.Fprintf(o.streams.Err, "context %s is out of %s\n", kubeconfig.Context(name), path)
	} else {
		fmt.Fprintf(o.streams.Err, "context %s is not in %s\n", kubeconfig.Context(name), path)
	}
	return nil
}
