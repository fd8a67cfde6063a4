package docs

import (
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tui"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

// Frames are printed by the command that stands above them, of a recording of a sandbox.
func TestFrames(t *testing.T) {
	for _, f := range []struct{ page, part, args string }{
		{"../README.md", "frame overview", "--at 26s --size 100x24"},
		{"tui.md", "frame small", "--at 33s --size 80x24"},
		{"tui.md", "frame timeline", "--at 33s --size 110x24 --keys '2'"},
		{"tui.md", "frame chain", "--at 66s --size 110x24 --keys '2 i enter'"},
		{"tui.md", "frame volumes", "--at 52s --size 110x24 --keys '3'"},
	} {
		t.Run(f.part, func(t *testing.T) {
			args := append([]string{"--replay", "recordings/power-off.jsonl", "--print"}, fields(f.args)...)
			streams, _, out, _ := iostreams.Test()
			cmd := tui.NewCmdTUI(&command.Deps{Streams: streams, Getenv: func(string) string { return "" }, Now: time.Now}, nil)
			cmd.SetArgs(args)
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				t.Fatalf("%s: %v", f.args, err)
			}
			generated(t, f.page, f.part, "```\n$ vsphere-sandbox tui --replay docs/recordings/power-off.jsonl --print "+f.args+"\n"+out.String()+"```\n")
		})
	}
}

// fields splits a command line whose quotes are single.
func fields(line string) []string {
	parts := strings.Split(line, "'")
	args := strings.Fields(parts[0])
	if len(parts) > 1 {
		args = append(args, parts[1])
	}
	return args
}
