package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/children"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/down"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/up"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/status"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/get"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubectl"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/govc"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/env"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/list"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/version"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

type sb struct{}

func (sb) List(context.Context) ([]command.Sandbox, error) {
	root, _ := instance.Root()
	es, err := instance.List(root)
	var out []command.Sandbox
	for _, e := range es {
		d, _ := instance.Open(root, e.Name)
		out = append(out, command.Sandbox{Name: e.Name, Running: e.Running, PID: e.PID, Socket: d.SocketPath(), Dir: d.Path()})
	}
	return out, err
}
func (sb) Root() (string, error)                        { return instance.Root() }
func (sb) Logs(string) (map[string]string, error)       { return nil, nil }
func (sb) Reap(ctx context.Context) ([]string, error)   { return nil, nil }

func main() {
	self, _ := os.Executable()
	d := &command.Deps{Streams: iostreams.System(), Sandboxes: sb{}, Getenv: os.Getenv, Now: time.Now, Self: self}
	root := &cobra.Command{Use: "vsphere-sandbox", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().StringVar(&d.NameFlag, "name", "", "")
	root.AddCommand(children.NewCmdControlPlane(), children.NewCmdNode(), children.NewCmdCCM(), up.NewCmdUp(d, nil), down.NewCmdDown(d, nil), status.NewCmdStatus(d,nil), get.NewCmdGet(d), vm.NewCmdVM(d), vcenter.NewCmdVCenter(d), kubectl.NewCmdKubectl(d,nil), govc.NewCmdGovc(d,nil), env.NewCmdEnv(d,nil), list.NewCmdList(d,nil), version.NewCmdVersion(d,nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := root.ExecuteContext(ctx); err != nil {
		r := report.Of(err)
		report.Write(os.Stderr, "", r)
		fmt.Fprintln(os.Stderr, "exit", r.Exit)
		os.Exit(r.Exit)
	}
}
