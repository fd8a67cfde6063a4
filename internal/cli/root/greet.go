package root

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// patience is how long a sandbox may take to say what is in it. One that hangs is no reason not to greet.
const patience = time.Second

// greet prints what the program shows without a command: what it is, and five commands to type. Users with sandboxes see
// these first, and a command that breaks something uses one of them.
func greet(cmd *cobra.Command, d *command.Deps) error {
	me := command.Typed(os.Args[0])
	with := me
	first := [2]string{me + " up --detach", "boot vCenters and a cluster"}
	vm := "worker-west-1" // of what "up" boots
	if names, s := running(cmd.Context(), d); len(names) > 0 {
		if len(names) > 1 {
			with += " --name " + s.Name
		}
		first = [2]string{me + " list", "what is running: " + strings.Join(names, ", ")}
		vm = victim(cmd.Context(), s)
	}
	third := [2]string{with + " vm power-off " + shellescape.Quote(vm), "break something"}
	if vm == "" {
		third = [2]string{with + " events --since 5m", "what has happened"}
	}
	lines := [][2]string{
		first,
		{with + " get nodes", "VMs and their nodes"},
		third,
		{with + " tui", "watch it"},
		{with + " down", "end it; nothing is left"},
	}
	width := 0
	for _, l := range lines {
		width = max(width, len(l[0]))
	}
	var text strings.Builder
	text.WriteString("Kubernetes on vSphere, on this machine: no vCenter, no Docker, no network.\n\n")
	for _, l := range lines {
		fmt.Fprintf(&text, "  %-*s  %s\n", width, l[0], l[1])
	}
	_, err := fmt.Fprintf(d.Streams.Out, "%s\nStep by step: %s tutorial start 1\nAll commands: %[2]s --help\n", text.String(), me)
	return err
}

// running are the names of the sandboxes that run, and the one that is meant, else the first of them.
func running(ctx context.Context, d *command.Deps) (names []string, one command.Sandbox) {
	// A state directory that cannot be read is no reason not to greet; the next command says what is wrong with it.
	all, _ := d.Sandboxes.List(ctx)
	for _, s := range all {
		if !s.Running {
			continue
		}
		if len(names) == 0 {
			one = s
		}
		names = append(names, s.Name)
	}
	if s, err := d.Find(ctx); err == nil && s.Running {
		one = s
	}
	return names, one
}

// victim returns a VM of a sandbox that may be powered off, or "" if none is known or the vCenters are real.
func victim(ctx context.Context, s command.Sandbox) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := api.NewClient(s.Socket)
	status, err := client.Status(ctx)
	if err != nil || status.Ground.Inventory == api.InventoryReal {
		return ""
	}
	vms, _ := client.VMs(ctx) // none are known then
	for _, vm := range vms {
		if vm.Role == string(topology.RoleWorker) {
			return vm.Name
		}
	}
	return ""
}
