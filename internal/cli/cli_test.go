package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/root"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

// tree returns the root command as Main makes it.
func tree(t *testing.T) (*clitest.Env, *cobra.Command) {
	t.Helper()
	global := pflag.CommandLine
	t.Cleanup(func() { pflag.CommandLine = global })
	e := clitest.NewEnv(nil)
	return e, newRoot(e.Deps)
}

// walk calls f for each command that people may use.
func walk(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "completion" {
			walk(c, f)
		}
	}
}

func TestHelp(t *testing.T) {
	var b strings.Builder
	_, all := tree(t)
	walk(all, func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		e, fresh := tree(t)
		if exit := root.Execute(t.Context(), fresh, append([]string{"help"}, path...), e.Streams); exit != 0 {
			t.Errorf("help %v: exit status %d: %s", path, exit, e.Err)
		}
		fmt.Fprintf(&b, "$ %s\n%s\n", strings.Join(append([]string{"vsphere-sandbox", "help"}, path...), " "), e.Out)
	})
	clitest.Golden(t, "help", b.String())
}

func TestEveryCommandIsWhole(t *testing.T) {
	_, all := tree(t)
	walk(all, func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		switch {
		case cmd.Short == "" || strings.HasSuffix(cmd.Short, "."):
			t.Errorf("%s: short help %q", path, cmd.Short)
		case cmd.Example == "":
			t.Errorf("%s has no example", path)
		case !cmd.HasSubCommands() && cmd.ValidArgsFunction == nil:
			t.Errorf("%s completes file names", path)
		case cmd.HasParent() && !cmd.Parent().HasParent() && cmd.GroupID == "":
			t.Errorf("%s is in no group", path)
		}
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: a line of the help is %d long: %s", path, len(line), line)
			}
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			if !strings.Contains(line, "vsphere-sandbox ") {
				t.Errorf("%s: an example is none: %s", path, line)
			}
		}
	})
}

func TestKubernetesFlagsAreNotOurs(t *testing.T) {
	if pflag.CommandLine.Lookup("version") == nil {
		t.Fatal("Kubernetes has no global flags any more: newRoot can do less")
	}
	global := pflag.CommandLine
	_, all := tree(t)
	walk(all, func(cmd *cobra.Command) {
		if cmd != all && cmd.InheritedFlags().Lookup("version") != nil {
			t.Errorf("%s has --version", cmd.CommandPath())
		}
	})
	for _, cmd := range all.Commands() {
		if cmd.Hidden && cmd.PreRun != nil {
			cmd.PreRun(cmd, nil)
			if pflag.CommandLine != global {
				t.Errorf("%s does not get Kubernetes' flags back", cmd.Name())
			}
		}
	}
}

func TestMainItself(t *testing.T) {
	global := pflag.CommandLine
	defer func() { pflag.CommandLine = global }()
	t.Setenv("VSPHERE_SANDBOX_STATE", t.TempDir())
	for _, tc := range []struct {
		args           string
		exit           int
		stdout, stderr string
	}{
		{"version", 0, "vsphere-sandbox v", ""},
		{"--version", 0, "vsphere-sandbox v", ""},
		{"list", 0, "", "no sandboxes"},
		{"status", 1, "", "error: no sandbox is running\ntry: vsphere-sandbox up\n"},
		{"stauts", 2, "", "try: vsphere-sandbox status\n"},
		{"wait --for=ready --name nobody -o json", 2, "", "has no flag -o"},
	} {
		streams, _, out, errOut := iostreams.Test()
		if exit := Main(t.Context(), strings.Fields(tc.args), streams); exit != tc.exit {
			t.Errorf("%s: exit status %d, want %d", tc.args, exit, tc.exit)
		}
		if !strings.Contains(out.String(), tc.stdout) || !strings.Contains(errOut.String(), tc.stderr) {
			t.Errorf("%s:\n%s\n%s", tc.args, out, errOut)
		}
	}
}
