package env

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		args, shell, line string
		exit              int
	}{
		{"", "/usr/bin/fish", "vsphere-sandbox env", 0},
		{"--shell zsh --vcenter us", "zsh", "vsphere-sandbox env --shell zsh --vcenter us", 0},
		{"--unset", "/usr/bin/fish", "vsphere-sandbox env --unset", 0},
		{"--shell tcsh", "", "", report.Usage},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			e.Vars["SHELL"] = "/usr/bin/fish"
			var got options
			cmd := NewCmdEnv(e.Deps, func(_ context.Context, o *options) error { got = *o; return nil })
			if r := e.Run(t.Context(), cmd, strings.Fields(tc.args)...); r.Exit != tc.exit {
				t.Fatalf("ended with %+v", r)
			}
			if got.shell != tc.shell || got.line != tc.line {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestEnv(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	for name, args := range map[string]string{
		"bash":       "--shell bash",
		"fish":       "--shell fish --vcenter eu",
		"powershell": "--shell powershell --vcenter us",
		"json":       "-o json",
		"yaml":       "-o yaml --vcenter eu",
		"unset-bash": "--unset",
		"unset-fish": "--unset --shell fish",
	} {
		t.Run(name, func(t *testing.T) {
			e := clitest.NewEnv(s)
			if r := e.Run(t.Context(), NewCmdEnv(e.Deps, nil), strings.Fields(args)...); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			clitest.Golden(t, name, e.Out.String())
		})
	}
}

func TestAShellUnderstandsIt(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	e.Run(t.Context(), NewCmdEnv(e.Deps, nil), "--shell", "bash")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", e.Out.String()+"\nprintf %s \"$GOVC_PASSWORD\"").Output()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("pa'ss", string(out)); d != "" {
		t.Error(d)
	}
}

func TestOfTwoDatacentersNoneIsSet(t *testing.T) {
	w := clitest.ZonesUSEU()
	w.Datacenters = append(w.Datacenters, api.Datacenter{Name: "dceast", VCenter: "us", Path: "/dceast"})
	e := clitest.NewEnv(clitest.Serve(t, w))
	e.Run(t.Context(), NewCmdEnv(e.Deps, nil))
	if !strings.Contains(e.Out.String(), "\nunset GOVC_DATACENTER\n") {
		t.Errorf("got\n%s", e.Out)
	}
}

func TestUnknownVCenter(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	if r := e.Run(t.Context(), NewCmdEnv(e.Deps, nil), "--vcenter", "ue"); r.Code != "not-found" || r.Try != "--vcenter us" && r.Try != "--vcenter eu" {
		t.Errorf("ended with %+v", r)
	}
	e = clitest.NewEnv(clitest.Serve(t, clitest.World{}))
	if r := e.Run(t.Context(), NewCmdEnv(e.Deps, nil)); r.Code != "unavailable" {
		t.Errorf("ended with %+v", r)
	}
}
