package root

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/get"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/status"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// tree returns a root command with a few real commands and two test commands: kubectl, which takes all arguments
// unparsed, and fail, which ends with err.
func tree(e *clitest.Env, got *[]string, err error) *cobra.Command {
	return New(e.Deps, Commands{
		Sandbox:   []*cobra.Command{status.NewCmdStatus(e.Deps, nil)},
		Inventory: []*cobra.Command{get.NewCmdGet(e.Deps), vm.NewCmdVM(e.Deps)},
		Tools: []*cobra.Command{
			{Use: "kubectl", Short: "Run kubectl", DisableFlagParsing: true, RunE: func(_ *cobra.Command, args []string) error {
				*got = args
				return nil
			}},
			{Use: "fail", Short: "Fail", RunE: func(*cobra.Command, []string) error { return err }},
		},
		Hidden: []*cobra.Command{{Use: "node", Run: func(*cobra.Command, []string) {}}},
	})
}

func execute(t *testing.T, e *clitest.Env, args ...string) int {
	t.Helper()
	return Execute(t.Context(), tree(e, new([]string), nil), args, e.Streams)
}

func TestErrors(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	for _, tc := range []struct {
		args string
		exit int
		want string
	}{
		{"stauts", 2, "error: unknown command \"vsphere-sandbox stauts\"\ntry: vsphere-sandbox status\n"},
		{"xyzzy", 2, "error: unknown command \"vsphere-sandbox xyzzy\"\ntry: vsphere-sandbox --help\n"},
		{"nod", 2, "error: unknown command \"vsphere-sandbox nod\"\ntry: vsphere-sandbox --help\n"},
		{"get vsm", 2, "error: unknown command \"vsphere-sandbox get vsm\"\ntry: vsphere-sandbox get vms\n"},
		{"help get vsm", 2, "error: unknown command \"vsphere-sandbox get vsm\"\ntry: vsphere-sandbox get vms\n"},
		{"completion tcsh", 0, ""},
		{"--nmae x status", 2, "error: vsphere-sandbox has no flag --nmae\ntry: --name\n"},
		{"status --ouptut json", 2, "error: vsphere-sandbox status has no flag --ouptut\ntry: --output\n"},
		{"status -x", 2, "error: vsphere-sandbox status has no flag -x\ntry: vsphere-sandbox status --help\n"},
		{"status -o", 2, "error: flag needs an argument: 'o' in -o\ntry: vsphere-sandbox status --help\n"},
		{"status -o jsn", 2, "error: unknown output format \"jsn\"\ntry: -o json\n"},
		{"get nodes -w=perhaps", 2, "error: --watch perhaps: want true or false\ntry: vsphere-sandbox get nodes --help\n"},
		{"status extra", 2, "error: vsphere-sandbox status: unexpected argument \"extra\"\ntry: vsphere-sandbox status --help\n"},
		{"vm power-off", 2, "error: vsphere-sandbox vm power-off needs a VM\ntry: vsphere-sandbox vm power-off --help\n"},
		{"get nodes nobody", 1, "error: node \"nobody\" not found\ntry: vsphere-sandbox get nodes\n"},
		{"status --name defalt", 1, "error: sandbox \"defalt\" not found\ntry: --name default\n"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(s)
			if exit := execute(t, e, strings.Fields(tc.args)...); exit != tc.exit {
				t.Errorf("exit status %d, want %d", exit, tc.exit)
			}
			if d := cmp.Diff(tc.want, e.Err.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestErrorsForPrograms(t *testing.T) {
	for _, args := range [][]string{
		{"status", "-o", "json"},
		{"status", "--bogus", "-o", "json"},
		{"status", "--output=json", "extra"},
	} {
		e := clitest.NewEnv(nil)
		exit := execute(t, e, args...)
		var got struct{ Error report.Record }
		if err := json.Unmarshal(e.Err.Bytes(), &got); err != nil {
			t.Errorf("%v: %v\n%s", args, err, e.Err)
		}
		if exit == 0 || got.Error.Exit != exit || got.Error.Message == "" || got.Error.Code == "" {
			t.Errorf("%v: exit status %d, %+v", args, exit, got)
		}
	}
	e := clitest.NewEnv(nil)
	if execute(t, e, "status", "-oyaml"); !strings.HasPrefix(e.Err.String(), "error:\n  code: no-sandbox\n") {
		t.Errorf("got %q", e.Err)
	}
}

func TestExitStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"fine":         {nil, 0},
		"plain":        {errors.New("x"), 1},
		"interrupted":  {context.Canceled, 130},
		"passed on":    {report.Exit(42), 42},
		"prerequisite": {&report.Error{Exit: report.Prerequisite}, 4},
	} {
		e := clitest.NewEnv(nil)
		if got := Execute(t.Context(), tree(e, nil, tc.err), []string{"fail"}, e.Streams); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestNameStandsBeforeKubectl(t *testing.T) {
	for _, tc := range []struct {
		args, name, got string
	}{
		{"--name x kubectl get nodes -n kube-system", "x", "get nodes -n kube-system"},
		{"kubectl get nodes --name x -o json", "", "get nodes --name x -o json"},
		{"--name=x kubectl --help", "x", "--help"},
		{"kubectl -n ns get pods -- -x", "", "-n ns get pods -- -x"},
	} {
		e := clitest.NewEnv(nil)
		var got []string
		if exit := Execute(t.Context(), tree(e, &got, nil), strings.Fields(tc.args), e.Streams); exit != 0 {
			t.Errorf("%s: exit status %d: %s", tc.args, exit, e.Err)
		}
		if d := cmp.Diff([]string{tc.name, tc.got}, []string{e.NameFlag, strings.Join(got, " ")}); d != "" {
			t.Errorf("%s: %s", tc.args, d)
		}
	}
}

func TestHelp(t *testing.T) {
	for name, args := range map[string]string{"root": "--help", "group": "help get", "command": "vm move --help"} {
		t.Run(name, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			if exit := execute(t, e, strings.Fields(args)...); exit != 0 || e.Err.Len() > 0 {
				t.Errorf("exit status %d, %s", exit, e.Err)
			}
			clitest.Golden(t, name, e.Out.String())
		})
	}
	e := clitest.NewEnv(nil)
	if execute(t, e, "--version"); !strings.HasPrefix(e.Out.String(), "vsphere-sandbox v") {
		t.Errorf("got %q", e.Out)
	}
}

func TestCompletion(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	for _, tc := range []struct{ args, want string }{
		{"st", "status\tShow the health of a sandbox, its vCenters, nodes and components"},
		{"status --name |", "default"},
		{"get nodes |", "control-plane-1 worker-1.example"},
		{"get vms worker-1 |", "control-plane-1"},
		{"get hosts |", "esx-1 esx-2 esx-3"},
		{"get dc |", "dcwest dceu"},
		{"get zones |", "us-west eu-all"},
		{"vm power-off w", "worker-1"},
		{"vm move worker-1 --to |", "esx-1 esx-2 esx-3"},
		{"vm reset worker-1 --vcenter |", "us eu"},
		{"get nodes -o |", "table wide json yaml name"},
		{"--name nobody get nodes |", ""},
		{"help vm power-o", "power-off\tPower VMs off, without a guest shutdown power-on\tPower VMs on, or resume suspended ones"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(s)
			words := strings.Fields(tc.args)
			if last := len(words) - 1; words[last] == "|" {
				words[last] = ""
			}
			if exit := execute(t, e, append([]string{"__complete"}, words...)...); exit != 0 {
				t.Errorf("exit status %d: %s", exit, e.Err)
			}
			lines := strings.Split(strings.TrimSpace(e.Out.String()), "\n")
			want := tc.want
			if d := cmp.Diff(want, strings.Join(lines[:len(lines)-1], " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		e := clitest.NewEnv(nil)
		if exit := execute(t, e, "completion", shell); exit != 0 || !strings.Contains(e.Out.String(), "vsphere-sandbox") {
			t.Errorf("%s: exit status %d, %d bytes", shell, exit, e.Out.Len())
		}
	}
}

// Without a command the program greets, and knows of what is running: the VM that it proposes to power off is one of its
// own, never one of a real vCenter.
func TestGreeting(t *testing.T) {
	far, idle := clitest.ZonesUSEU(), clitest.ZonesUSEU()
	far.Status.Ground.Inventory = api.InventoryReal
	idle.VMs = idle.VMs[:1]
	for name, tc := range map[string]struct {
		server *clitest.Server
		others []command.Sandbox
	}{
		"greeting":          {},
		"greeting.running":  {server: clitest.Serve(t, clitest.ZonesUSEU())},
		"greeting.several":  {server: clitest.Serve(t, clitest.ZonesUSEU()), others: []command.Sandbox{{Name: "dead"}, {Name: "lab", Running: true}}},
		"greeting.real":     {server: clitest.Serve(t, far)},
		"greeting.noworker": {server: clitest.Serve(t, idle)},
	} {
		t.Run(name, func(t *testing.T) {
			e := clitest.NewEnv(tc.server)
			e.State.Items = append(e.State.Items, tc.others...)
			if exit := execute(t, e); exit != 0 {
				t.Errorf("exit status %d", exit)
			}
			clitest.Golden(t, name, e.Out.String())
		})
	}
}
