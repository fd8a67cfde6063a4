// Package cli is the command line of the program: it hands every command what it needs, and is the one place that knows
// them all. A command lives in the folder of its name; package root makes one tree of them.
//
// Floor 5, the top: it links everything.
package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/cache"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/calls"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/children"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/conformance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/doctor"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/down"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/env"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/events"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/get"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/govc"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/instances"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubectl"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubernetes"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/list"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/logs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/man"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/record"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/root"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/signals"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/smoke"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/status"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/taint"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tui"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/up"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/version"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/wait"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
)

// Main runs the program with arguments, those after its name, and returns its exit status. The first Ctrl-C, TERM or
// hang-up ends the command's context, and a second Ctrl-C the process; see [signals.Context].
func Main(ctx context.Context, args []string, streams *iostreams.Streams) int {
	if err := secret.Inherit(); err != nil {
		fmt.Fprintln(streams.Err, "error:", err)
		return report.Failure
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(streams.Err, "error: cannot find the path of this program:", err)
		return report.Failure
	}
	ctx, release := signals.Context(ctx)
	defer release()
	d := &command.Deps{
		Streams: streams, Sandboxes: instances.Instances{RootFunc: instance.Root}, Getenv: os.Getenv, Now: time.Now,
		Self: self, Release: release,
	}
	return root.Execute(ctx, newRoot(d), ccm.WatchArgs(vcenter.Args(args)), streams)
}

// newRoot returns the root command with every command of the program.
//
// Packages of Kubernetes put flags that their own programs want (--version) into pflag's global set, and cobra adds that
// set to every command. Ours are not to have them, while the commands that run those packages need the set as it was.
func newRoot(d *command.Deps) *cobra.Command {
	c := commands(d)
	theirs := pflag.CommandLine
	pflag.CommandLine = pflag.NewFlagSet(command.Program, pflag.ContinueOnError)
	for _, cmd := range c.Hidden {
		cmd.PreRun = func(*cobra.Command, []string) { pflag.CommandLine = theirs }
	}
	return root.New(d, c)
}

// commands returns every command of the program: to add one, add a line.
func commands(d *command.Deps) root.Commands {
	return root.Commands{
		Sandbox: []*cobra.Command{
			up.NewCmdUp(d, nil),
			down.NewCmdDown(d, nil),
			down.NewCmdStop(d, nil),
			up.NewCmdStart(d, nil),
			snapshot.NewCmdSnapshot(d),
			list.NewCmdList(d, nil),
			status.NewCmdStatus(d, nil),
			wait.NewCmdWait(d, nil),
			scenario.NewCmdScenario(d),
			smoke.NewCmdSmoke(d, nil),
			smoke.NewCmdMatrix(d, nil),
			smoke.NewCmdRelease(d),
			conformance.NewCmdConformance(d, nil),
			tutorial.NewCmdTutorial(d),
		},
		Inventory: []*cobra.Command{
			get.NewCmdGet(d),
			vm.NewCmdVM(d),
			vcenter.NewCmdVCenter(d),
			volume.NewCmdVolume(d),
			taint.NewCmdTaint(d),
			fault.NewCmdFault(d),
			topology.NewCmdTopology(d),
			ccm.NewCmdCCM(d),
			csi.NewCmdCSI(d),
		},
		Watch: []*cobra.Command{
			tui.NewCmdTUI(d, nil),
			events.NewCmdEvents(d, nil),
			calls.NewCmdCalls(d),
			explain.NewCmdExplain(d),
			logs.NewCmdLogs(d, nil),
		},
		Tools: []*cobra.Command{
			kubectl.NewCmdKubectl(d, nil),
			kubectl.NewCmdEtcdctl(d, nil),
			govc.NewCmdGovc(d, nil),
			env.NewCmdEnv(d, nil),
			cache.NewCmdCache(d),
			config.NewCmdConfig(d),
			migrate.NewCmdMigrate(d),
			record.NewCmdRecord(d, nil),
			doctor.NewCmdDoctor(d, nil),
			images.NewCmdImages(d),
			kubernetes.NewCmdKubernetes(d),
			version.NewCmdVersion(d, nil),
			man.NewCmdMan(d, nil),
		},
		Hidden: []*cobra.Command{
			children.NewCmdLightNodes(),
			children.NewCmdCCM(),
			children.NewCmdCSI(),
			children.NewCmdGuest(),
		},
	}
}
