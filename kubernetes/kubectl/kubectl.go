// Package kubectl is kubectl of the Kubernetes release that this program is built from, without plugins.
package kubectl

import (
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// Run runs kubectl with arguments, those after its name. It ends the process with kubectl's exit status when kubectl fails.
func Run(args []string, in io.Reader, out, errOut io.Writer) error {
	if err := cli.RunNoErrOutput(newCommand(args, in, out, errOut)); err != nil {
		cmdutil.CheckErr(err)
	}
	return nil
}

func newCommand(args []string, in io.Reader, out, errOut io.Writer) *cobra.Command {
	cmd := kubectlcmd.NewDefaultKubectlCommandWithArgs(kubectlcmd.KubectlOptions{
		Arguments: append([]string{"kubectl"}, args...), // for the user's own kuberc
		IOStreams: genericiooptions.IOStreams{In: in, Out: out, ErrOut: errOut},
	})
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(errOut)
	return cmd
}
