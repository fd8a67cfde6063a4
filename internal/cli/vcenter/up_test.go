package vcenter

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestArgs(t *testing.T) {
	for args, want := range map[string]string{
		"vcenter up -dc 2 -vm=10 -l :8989":            "vcenter up --dc 2 --vm=10 -l :8989",
		"--name x vc up --dc 2 -standalone-host 0 -d": "--name x vc up --dc 2 --standalone-host 0 -d",
		"vcenter --name x up -detach -speed 3 -d":     "vcenter --name x up --detach --speed 3 -d",
		"vcenter up -trace -load=x -l=:0 -o json":     "vcenter up --trace --load=x -l=:0 -o json",
		"up -d":            "up -d",
		"up -vm vcenter":   "up -vm vcenter",
		"vm power-off -vm": "vm power-off -vm",
		"vcenter up -username a -password b -E -": "vcenter up --username a --password b -E -",
		"vcenter down -vm":                        "vcenter down -vm",
	} {
		if got := strings.Join(Args(strings.Fields(args)), " "); got != want {
			t.Errorf("%s became %s, want %s", args, got, want)
		}
	}
}

func TestUpOptions(t *testing.T) {
	for _, tc := range []struct {
		args, want string
		exit       int
	}{
		{args: "", want: "needs the topology", exit: report.Usage},
		{args: "-f zones-us-eu us", want: "exclude each other", exit: report.Usage},
		{args: "-f zones-us-eu --vm 3", want: "do not go with it", exit: report.Usage},
		{args: "--vm 3 --password x", want: "--password without --username", exit: report.Usage},
		{args: "--vm 3 --username x", want: "needs --password", exit: report.Usage},
		{args: "-f zones-us-e", want: "no built-in topology and no file has this name", exit: report.Usage},
		{args: "--vm 1000000", want: "ask for 2000000 VMs: there can be 50000", exit: report.Usage},
		{args: "--dc 1000000000000 --host 1000000000000", want: "there can be 50000", exit: report.Usage},
		{args: "--vm 0 --host 20000", want: "cannot be as much", exit: report.Usage},
		{args: "--dc -2", want: "--dc -2: want 0 or more", exit: report.Usage},
		{args: "--stdinexit --detach", want: "--stdinexit waits", exit: report.Usage},
		{args: "--esx --detach", want: "--esx runs one standalone host", exit: report.Usage},
		{args: "--esx -f zones-us-eu", want: "--esx runs one standalone host", exit: report.Usage},
		{args: "--tlscert x", want: "need each other", exit: report.Usage},
		{args: "--tlscert x --tlskey y", want: "--tlscert: open x", exit: report.Usage},
		{args: "--method-delay PowerOnVM_Task", want: "want METHOD:MILLISECONDS", exit: report.Usage},
		{args: "--delay-jitter 2", want: "a jitter from 0 to 1", exit: report.Usage},
		{args: "--vm 3 us", want: "do not go with", exit: report.Usage},
		{args: "--vm 3 --set a=1", want: "needs -f", exit: report.Usage},
		{args: "--vm 3 --speed 0", want: "--speed: speed 0", exit: report.Usage},
		{args: "--vm 3 -l foo", want: "--listen foo", exit: report.Usage},
		{args: "us --detach", want: "--detach is for vCenters alone", exit: report.Usage},
		{args: "us"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
			r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), strings.Fields(tc.args)...)
			if r.Exit != tc.exit || !strings.Contains(r.Message+r.Try, tc.want) {
				t.Errorf("ended with %+v, want %d and %q", r, tc.exit, tc.want)
			}
		})
	}
}

func TestUpOfATopologyWithoutF(t *testing.T) {
	for arg, try := range map[string]string{
		"zones-us-eu": "vsphere-sandbox vcenter up -f zones-us-eu",
		"lab.yaml":    "vsphere-sandbox vcenter up -f lab.yaml",
		"us":          "",
	} {
		e := clitest.NewEnv(nil)
		if r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), arg); r.Exit == 0 || try != "" && r.Try != try {
			t.Errorf("%s: ended with %+v, want %q", arg, r, try)
		}
	}
}

func TestUpAgain(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	var got *upOptions
	cmd := NewCmdUp(e.Deps, func(_ context.Context, o *upOptions) error { got = o; return nil })
	if r := e.Run(t.Context(), cmd, strings.Fields("-f top.yaml --set a=1 --set b=2 -l 127.0.0.1:0 --username u --password p -d")...); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	want := "vcenter up --detached --file=top.yaml --listen=127.0.0.1:0 --set=a=1 --set=b=2 --username=u"
	if line := strings.Join(got.args, " "); line != want {
		t.Errorf("in the background: %s\nwant %s", line, want)
	}
}

func TestEnvFileIsItsOwners(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "env")
	if err := os.WriteFile(path, []byte("of yesterday, and longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeEnv(t.Context(), path, "export A=1\n"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "export A=1\n" {
		t.Errorf("%q, %v", b, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestEnvFileThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "none", "env"): "--env: " + dir + "/none/env: no such file or directory",
		dir:                               "--env: " + dir + ": is a directory",
	} {
		err := writeEnv(t.Context(), path, "x")
		if r := report.Of(err); r.Message != want || r.Exit != report.Prerequisite || !strings.Contains(r.Try, "--env -") {
			t.Errorf("%s: %+v, want %q", path, r, want)
		}
	}
}

func TestEnvPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := writeEnv(ctx, path, "nobody reads\n"); err != nil {
		t.Errorf("told to end: %v", err)
	}
	read := make(chan string)
	go func() {
		b, _ := os.ReadFile(path)
		read <- string(b)
	}()
	if err := writeEnv(t.Context(), path, "export A=1\n"); err != nil {
		t.Error(err)
	}
	if got := <-read; got != "export A=1\n" {
		t.Errorf("read %q", got)
	}
}
