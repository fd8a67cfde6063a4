package root

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// greet is what the program says when it is called without a command: what it is and what to type, in as many lines as
// somebody reads. Who has sandboxes already is told of them first.
func greet(cmd *cobra.Command, d *command.Deps) error {
	me := command.Typed(os.Args[0])
	begin, first := "boot vCenters and a cluster", me+" up --detach"
	var running []string
	// A state directory that cannot be read is no reason not to greet; the next command says what is wrong with it.
	all, _ := d.Sandboxes.List(cmd.Context())
	for _, s := range all {
		if s.Running {
			running = append(running, s.Name)
		}
	}
	if len(running) > 0 {
		begin, first = "what is running: "+strings.Join(running, ", "), me+" list"
	}
	lines := [][2]string{
		{first, begin},
		{me + " get nodes", "VMs and their nodes"},
		{me + " vm power-off worker-west-1", "break something"},
		{me + " tui", "watch it"},
		{me + " down", "end it; nothing is left"},
		{me + " tutorial start 1", "or be led through it, step by step"},
	}
	width := 0
	for _, l := range lines {
		width = max(width, len(l[0]))
	}
	text := "Kubernetes on vSphere, on this machine: no vCenter, no Docker, no network.\n\n"
	for _, l := range lines {
		text += fmt.Sprintf("  %-*s  %s\n", width, l[0], l[1])
	}
	_, err := fmt.Fprint(d.Streams.Out, text, "\nAll commands: ", me, " --help\n")
	return err
}
