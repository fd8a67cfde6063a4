package kubectl

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

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
