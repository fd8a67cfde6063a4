package migrate

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/vmware/govmomi/cli"
	_ "github.com/vmware/govmomi/cli/object"
	_ "github.com/vmware/govmomi/cli/tags"
	_ "github.com/vmware/govmomi/cli/tags/association"
	_ "github.com/vmware/govmomi/cli/tags/category"
	_ "github.com/vmware/govmomi/cli/vm"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/env"
)

// planned are the command lines of a program in the plans of package steps, whose golden files they are, without what a shell
// does behind them.
func planned(t *testing.T, program string) []string {
	t.Helper()
	files, err := filepath.Glob("../../migrate/steps/testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	begins := regexp.MustCompile("(?m)(?:^(?:until )?|`|\\(\")" + program + " ([^`\\n|;)]*)")
	var lines []string
	seen := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range begins.FindAllStringSubmatch(string(data), -1) {
			if line := strings.TrimSpace(m[1]); !seen[line] {
				seen[line] = true
				lines = append(lines, line)
			}
		}
	}
	if len(lines) < 4 {
		t.Fatalf("%s: %d lines", program, len(lines))
	}
	return lines
}

// words takes a command line apart as a shell does, as far as plans need it.
func words(line string) []string {
	var all []string
	var word strings.Builder
	quoted, any := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, any = !quoted, true
		case c == '\\' && !quoted && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			any = true
		case c == ' ' && !quoted:
			if any {
				all = append(all, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteByte(c)
			any = true
		}
	}
	if any {
		all = append(all, word.String())
	}
	return all
}

// TestOurCommands has the real commands read those of plans.
func TestOurCommands(t *testing.T) {
	for _, line := range planned(t, "vsphere-sandbox") {
		d := clitest.NewEnv(nil).Deps
		root := &cobra.Command{Use: "vsphere-sandbox"}
		root.PersistentFlags().StringVar(&d.NameFlag, "name", "", "")
		root.AddCommand(NewCmdMigrate(d), config.NewCmdConfig(d), env.NewCmdEnv(d, nil))
		cmd, args, err := root.Find(words(strings.TrimSuffix(line, `"`)))
		if err != nil || !cmd.Runnable() || cmd.HasSubCommands() {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if err := cmd.ParseFlags(args); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestGovc has govc's commands read those of plans.
func TestGovc(t *testing.T) {
	for _, line := range planned(t, "govc") {
		all := words(line)
		cmd, ok := cli.Commands()[strings.TrimPrefix(all[0], "object.")] // object.collect is an old name of collect, which is taken still
		if !ok {
			t.Errorf("govc %s: there is no such command", line)
			continue
		}
		flags := flag.NewFlagSet(all[0], flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		cmd.Register(t.Context(), flags)
		if err := flags.Parse(all[1:]); err != nil {
			t.Errorf("govc %s: %v", line, err)
		}
	}
}
