package govc

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// called is what the fake govc got.
type called struct {
	args []string
	env  map[string]string
}

func fake(c *called, status int) func(context.Context, *options) error {
	return func(ctx context.Context, o *options) error {
		c.env = map[string]string{}
		o.setenv = func(k, v string) error { c.env[k] = v; return nil }
		o.main = func(args []string) int { c.args = args; return status }
		return run(ctx, o)
	}
}

func TestOneVCenter(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	released := false
	e.Release = func() { released = true }
	var c called
	if r := e.Run(t.Context(), NewCmdGovc(e.Deps, fake(&c, 0)), "--vcenter", "us", "find", "/", "-type", "m", "--vcenter"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	want := called{[]string{"find", "/", "-type", "m", "--vcenter"}, map[string]string{
		"GOVC_URL": "https://127.0.0.2:8989/sdk", "GOVC_USERNAME": "administrator@vsphere.local", "GOVC_PASSWORD": "pa'ss",
		"GOVC_TLS_CA_CERTS": "/state/default/pki/ca.crt", "GOVC_DATACENTER": "/dcwest", "GOVC_INSECURE": "", "GOVC_PERSIST_SESSION": "false",
	}}
	if d := cmp.Diff(want, c, cmp.AllowUnexported(called{})); d != "" || !released {
		t.Errorf("released %v\n%s", released, d)
	}
	if r := e.Run(t.Context(), NewCmdGovc(e.Deps, fake(&c, 5)), "--vcenter", "us", "find"); r.Exit != 5 || r.Message != "" {
		t.Errorf("ended with %+v", r)
	}
	if r := e.Run(t.Context(), NewCmdGovc(e.Deps, fake(&c, 0)), "--vcenter", "uss", "find"); r.Try != "--vcenter us" {
		t.Errorf("ended with %+v", r)
	}
}

func TestEachVCenter(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	e.Self = filepath.Join(t.TempDir(), "self")
	script := "#!/bin/sh\necho \"$@\"\n[ \"$5\" != eu ] || exit 4\n"
	if err := os.WriteFile(e.Self, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r := e.Run(t.Context(), NewCmdGovc(e.Deps, nil), "find", "/", "-type", "m")
	if d := cmp.Diff(report.Record{Exit: 4}, r); d != "" {
		t.Error(d)
	}
	want := "--name default govc --vcenter us -- find / -type m\n--name default govc --vcenter eu -- find / -type m\n"
	if d := cmp.Diff([]string{want, "# vcenter us\n# vcenter eu\n"}, []string{e.Out.String(), e.Err.String()}); d != "" {
		t.Error(d)
	}
	e.Self = filepath.Join(t.TempDir(), "missing")
	if r := e.Run(t.Context(), NewCmdGovc(e.Deps, nil), "about"); r.Exit != report.Failure || r.Message == "" {
		t.Errorf("ended with %+v", r)
	}
}

func TestWithoutASandbox(t *testing.T) {
	e := clitest.NewEnv(nil)
	for args, want := range map[string]bool{"": true, "version": true, "find -h": true, "find /": false} {
		var c called
		r := e.Run(t.Context(), NewCmdGovc(e.Deps, fake(&c, 0)), strings.Fields(args)...)
		if (c.args != nil || args == "" && r.Exit == 0) != want || !want && r.Code != "no-sandbox" {
			t.Errorf("%q: called %v, ended with %+v", args, c.args, r)
		}
	}
}

func TestAllOfGovcIsThere(t *testing.T) {
	words, _ := completion(nil, nil, "")
	for _, name := range []string{"find", "ls", "vm.info", "tags.ls", "volume.ls", "collect", "host.esxcli", "about"} {
		if !slices.Contains(words, name) {
			t.Errorf("there is no govc %s", name)
		}
	}
	if len(words) < 400 {
		t.Errorf("there are %d commands", len(words))
	}
}
