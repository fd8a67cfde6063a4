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
	root.AddCommand(children.NewCmdControlPlane(), children.NewCmdNode(), children.NewCmdCCM(), up.NewCmdUp(d, nil), down.NewCmdDown(d, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := root.ExecuteContext(ctx); err != nil {
		r := report.Of(err)
		report.Write(os.Stderr, "", r)
		fmt.Fprintln(os.Stderr, "exit", r.Exit)
		os.Exit(r.Exit)
	}
}
