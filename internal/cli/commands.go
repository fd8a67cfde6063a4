package cli

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/children"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/doctor"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/down"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/env"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/events"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/get"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/govc"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubectl"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubernetes"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/list"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/logs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/man"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/record"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/root"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/smoke"
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
)

// commands returns every command of the program: to add one, add a line.
func commands(d *command.Deps) root.Commands {
	return root.Commands{
		Sandbox: []*cobra.Command{
			up.NewCmdUp(d, nil),
			down.NewCmdDown(d, nil),
			list.NewCmdList(d, nil),
			status.NewCmdStatus(d, nil),
			wait.NewCmdWait(d, nil),
			scenario.NewCmdScenario(d),
			smoke.NewCmdSmoke(d, nil),
			smoke.NewCmdMatrix(d, nil),
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
		},
		Watch: []*cobra.Command{
			tui.NewCmdTUI(d, nil),
			events.NewCmdEvents(d, nil),
			explain.NewCmdExplain(d),
			logs.NewCmdLogs(d, nil),
		},
		Tools: []*cobra.Command{
			kubectl.NewCmdKubectl(d, nil),
			govc.NewCmdGovc(d, nil),
			env.NewCmdEnv(d, nil),
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
		},
	}
}
