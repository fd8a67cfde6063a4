package docs

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tui"
)

// Frames are printed by the command that stands above them, of a recording of a sandbox.
func TestFrames(t *testing.T) {
	for _, f := range []struct{ page, part, args string }{
		{"../README.md", "frame overview", "--at 19s --size 118x24"},
		{"../README.md", "frame chain", "--at 66s --size 118x24 --keys '2 i enter'"},
		{"tui.md", "frame small", "--at 33s --size 80x24"},
		{"tui.md", "frame timeline", "--at 33s --size 110x24 --keys '2'"},
		{"tui.md", "frame chain", "--at 66s --size 110x24 --keys '2 i enter'"},
		{"tui.md", "frame volumes", "--at 52s --size 110x24 --keys '3'"},
	} {
		t.Run(f.part, func(t *testing.T) {
			args := append([]string{"--replay", "recordings/power-off.jsonl", "--print"}, fields(f.args)...)
			e := clitest.NewEnv(nil)
			if r := e.Run(t.Context(), tui.NewCmdTUI(e.Deps, nil), args...); r.Exit != 0 {
				t.Fatalf("%s: %+v", f.args, r)
			}
			generated(t, f.page, f.part, "```\n$ vsphere-sandbox tui --replay docs/recordings/power-off.jsonl --print "+f.args+"\n"+e.Out.String()+"```\n")
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
