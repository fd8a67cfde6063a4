package man

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/root"
)

// tree is a program with a command whose help has everything that could be taken for an instruction.
func tree(e *clitest.Env) *cobra.Command {
	odd := &cobra.Command{
		Use: "odd [THING]", Short: "Do 'odd' things with C:\\new", Example: "  vsphere-sandbox vm odd \\n --kind=.x",
		Long: ".SH is the first word of this help,\n'and this line begins with an apostrophe.\n\nA backslash: \\fB.",
		Run:  func(*cobra.Command, []string) {},
	}
	odd.Flags().StringP("kind", "k", "plain", "the `KIND` of thing")
	odd.Flags().Bool("force", false, ".do it")
	odd.Flags().Bool("inner", false, "for the program itself")
	_ = odd.Flags().MarkHidden("inner") // it was added in the line above
	hidden := &cobra.Command{Use: "secret", Hidden: true, Run: func(*cobra.Command, []string) {}}
	return root.New(e.Deps, root.Commands{
		Inventory: []*cobra.Command{command.Group(&cobra.Command{Use: "vm", Short: "Do things with VMs"}, odd, hidden)},
		Tools:     []*cobra.Command{NewCmdMan(e.Deps, nil)},
	})
}

func TestPages(t *testing.T) {
	for name, args := range map[string][]string{"root": {"man"}, "group": {"man", "vm"}, "command": {"man", "vm", "odd"}} {
		t.Run(name, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			if exit := root.Execute(t.Context(), tree(e), args, e.Streams); exit != 0 {
				t.Fatalf("exit status %d: %s", exit, e.Err)
			}
			clitest.Golden(t, name, e.Out.String())
		})
	}
}

func TestAllPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "share", "man1")
	for range 2 { // the second time they are there
		e := clitest.NewEnv(nil)
		if exit := root.Execute(t.Context(), tree(e), []string{"man", "--dir", dir}, e.Streams); exit != 0 || e.Out.Len() > 0 {
			t.Fatalf("exit status %d: %s%s", exit, e.Err, e.Out)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	want := []string{
		"vsphere-sandbox-completion-bash.1", "vsphere-sandbox-completion-fish.1", "vsphere-sandbox-completion-powershell.1",
		"vsphere-sandbox-completion-zsh.1", "vsphere-sandbox-completion.1", "vsphere-sandbox-man.1", "vsphere-sandbox-vm-odd.1",
		"vsphere-sandbox-vm.1", "vsphere-sandbox.1",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// Where there is a man, it reads a page without a warning, and shows what the help says.
func TestManReads(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff on this machine to read a page with")
	}
	e := clitest.NewEnv(nil)
	if exit := root.Execute(t.Context(), tree(e), []string{"man", "vm", "odd"}, e.Streams); exit != 0 {
		t.Fatalf("exit status %d: %s", exit, e.Err)
	}
	cmd := exec.CommandContext(t.Context(), groff, "-man", "-Tascii", "-P-cbou", "-ww")
	cmd.Stdin = strings.NewReader(e.Out.String())
	var warnings strings.Builder
	cmd.Stderr = &warnings
	shown, err := cmd.Output()
	if err != nil || warnings.Len() > 0 {
		t.Fatalf("%v: %s", err, &warnings)
	}
	for _, line := range []string{".SH is the first word of this help,", `A backslash: \fB.`, `vsphere-sandbox vm odd \n --kind=.x`, ".do it"} {
		if !strings.Contains(string(shown), line) {
			t.Errorf("does not show %s:\n%s", line, shown)
		}
	}
}

func TestMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"man", "vm", "od"}, report.Usage, "error: unknown command \"vsphere-sandbox vm od\"\ntry: vsphere-sandbox vm odd\n"},
		{[]string{"man", "vm", "--dir", "x"}, report.Usage, "error: --dir is for the pages of all commands, \"vm\" is one\ntry: vsphere-sandbox man --help\n"},
		{[]string{"man", "--dir", file}, report.Failure, "error: manual pages: mkdir " + file + ": not a directory\ntry: --dir with a folder that you may write\n"},
	} {
		e := clitest.NewEnv(nil)
		exit := root.Execute(t.Context(), tree(e), test.args, e.Streams)
		if diff := cmp.Diff(test.want, e.Err.String()); exit != test.exit || diff != "" {
			t.Errorf("%v: exit status %d (-want +got):\n%s", test.args, exit, diff)
		}
	}
}
