package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/root"
)

// leaves calls f for each command that does something, with the words after the program's name.
func leaves(t *testing.T, f func(cmd *cobra.Command, path []string)) {
	t.Helper()
	_, all := tree(t)
	walk(all, func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && cmd.HasParent() && cmd.Name() != "help" {
			f(cmd, strings.Fields(cmd.CommandPath())[1:])
		}
	})
}

// execute runs a line where no sandbox is, and returns the exit status and what was printed to stderr.
func execute(t *testing.T, line ...string) (exit int, stderr string) {
	t.Helper()
	e, fresh := tree(t)
	return root.Execute(t.Context(), fresh, line, e.Streams), e.Err.String()
}

// Wrong flags, formats and names end every command in the same way.
func TestEveryCommandEndsAlike(t *testing.T) {
	leaves(t, func(cmd *cobra.Command, path []string) {
		name := strings.Join(path, " ")
		if !cmd.DisableFlagParsing {
			if exit, text := execute(t, append(slices.Clone(path), "--no-such-flag")...); exit != report.Usage || !strings.Contains(text, "has no flag --no-such-flag\ntry: ") {
				t.Errorf("%s --no-such-flag: exit status %d: %s", name, exit, text)
			}
		}
		if f := cmd.Flags().Lookup("output"); f != nil {
			if exit, text := execute(t, append(slices.Clone(path), "-o", "jsno")...); exit != report.Usage || !strings.Contains(text, "unknown output format \"jsno\"\ntry: -o json\n") {
				t.Errorf("%s -o jsno: exit status %d: %s", name, exit, text)
			}
			for _, format := range []string{"table", "json", "yaml"} {
				if err := f.Value.Set(format); err != nil && (format != "table" || !slices.Contains(files, name)) {
					t.Errorf("%s -o %s: %v", name, format, err)
				}
			}
			if complete, ok := cmd.GetFlagCompletionFunc("output"); !ok {
				t.Errorf("%s -o has no completion", name)
			} else if words, directive := complete(cmd, nil, ""); directive != cobra.ShellCompDirectiveNoFileComp || !slices.Contains(words, "json") {
				t.Errorf("%s -o completes %v", name, words)
			}
		} else if !slices.Contains(silent, name) {
			t.Errorf("%s has no -o", name)
		}
	})
}

// files are commands that print a file, in YAML or JSON.
var files = []string{"topology render", "record", "scenario record"}

// silent are commands whose output has no rows.
var silent = []string{
	"config render", "events export", "get kubeconfig", "images save", "man", "scenario schema", "scenario show", "topology schema", // a file
	"topology graph",             // a drawing, with --format
	"etcdctl", "govc", "kubectl", // the output of another program
	"cache clean", "stop", "start", "snapshot delete", "down", "kubernetes fetch", "kubernetes remove", "tui", "tutorial start", "tutorial stop", "wait", // progress and what was done
}

// Every command about a running sandbox prints the same if none is running: exit status 1, and how to start one.
func TestNoSandbox(t *testing.T) {
	arguments := map[string][]string{
		"get kubeconfig": {}, "explain node": {"a"}, "explain vm": {"a"}, "explain volume": {"a"}, "explain service": {"a"}, "vm move": {"a", "--to", "b"}, "vm destroy": {"a", "--yes"},
		"volume move": {"a", "--to", "b"}, "ccm swap": {"builtin"}, "wait": {"--for=ready"}, "vcenter slow": {"--delay", "1s"}, "taint out-of-service": {"a"},
	}
	groups := []string{"get", "explain", "vm", "status", "wait", "logs", "events", "env"}
	leaves(t, func(_ *cobra.Command, path []string) {
		name := strings.Join(path, " ")
		if !slices.Contains(groups, path[0]) || name == "events export" {
			return
		}
		args, special := arguments[name]
		if !special && path[0] == "vm" {
			args = []string{"a"}
		}
		if exit, text := execute(t, append(slices.Clone(path), args...)...); exit != report.Failure || !strings.HasPrefix(text, "error: no sandbox is running\ntry: vsphere-sandbox up\n") {
			t.Errorf("%s: exit status %d: %s", name, exit, text)
		}
	})
}

// Variables that only the program itself, its tests and its releases set.
var inner = []string{
	"VSPHERE_SANDBOX_LIFELINE", "VSPHERE_SANDBOX_SECRETS_FD", "VSPHERE_SANDBOX_BIN", "VSPHERE_SANDBOX_DIST", "VSPHERE_SANDBOX_MAX_WAIT_FOR_UNMOUNT",
	"VSPHERE_SANDBOX_VOLUME_POPULATOR_SLEEP", "VSPHERE_SANDBOX_STOCKSIM", "VSPHERE_SANDBOX_",
}

// All variables that the program reads are on one page: the help of the program.
func TestVariablesAreOnOnePage(t *testing.T) {
	e, all := tree(t)
	if exit := root.Execute(t.Context(), all, []string{"help"}, e.Streams); exit != 0 {
		t.Fatal(exit)
	}
	page := e.Out.String()
	for _, dir := range []string{"../../internal", "../../pkg", "../../cmd"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), `"VSPHERE_SANDBOX_`) {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				name, _, _ := strings.Cut(strings.Trim(lit.Value, "\"`"), "=")
				if strings.HasPrefix(name, "VSPHERE_SANDBOX_") && strings.ToUpper(name) == name && !strings.Contains(name, " ") &&
					!slices.Contains(inner, name) && !strings.Contains(page, "  "+name+" ") {
					t.Errorf("%s: %s is not in the help of %s", path, name, command.Program)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Tables fit into terminals of ordinary width; wide ones are for -o wide.
func TestTablesFit(t *testing.T) {
	const most = 100
	long := []string{"doctor", "events"} // a report and a log
	files, err := filepath.Glob("*/testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if !strings.Contains(name, "table") && name != "list.golden" || slices.ContainsFunc(long, func(s string) bool { return strings.Contains(file, s) }) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > most {
				t.Errorf("%s: a line of %d columns: %s", file, n, line)
				break
			}
		}
	}
}
