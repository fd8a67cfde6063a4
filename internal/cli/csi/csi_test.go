package csi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestFlags(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "csi-vsphere.conf")
	if err := os.WriteFile(conf, []byte("[Global]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args    string
		kind    bool
		refused string
		again   string
	}{
		{args: ""},
		{args: "--csi builtin", kind: true},
		{args: "--csi off", again: "--csi=off"},
		{args: "--csi none", kind: true, again: "--csi=none"},
		{args: "--csi none --csi-arg=--v=4", refused: "there is no driver that other flags could be about"},
		{args: "--csi module:v3.7.0", kind: true, again: "--csi=module:v3.7.0"},
		{args: "--csi module:v3.7.0", again: "--csi=module:v3.7.0"},
		{args: "--csi module:v3.8.0-rc.1", kind: true, again: "--csi=module:v3.8.0-rc.1"},
		{args: "--csi image:registry.k8s.io/csi-vsphere/driver:v3.7.0", kind: true, again: "--csi=image:registry.k8s.io/csi-vsphere/driver:v3.7.0"},
		{args: "--csi image:localhost:5000/driver:mine --csi-manifest m.yaml", kind: true, again: "--csi=image:localhost:5000/driver:mine --csi-manifest=m.yaml"},
		{args: "--csi image:localhost:5000/driver:mine", kind: true, refused: "its tag does not say which release it is"},
		{args: "--csi image:localhost:5000/driver:mine", again: "--csi=image:localhost:5000/driver:mine"},
		{args: "--csi module:3.7", kind: true, refused: "is no version"},
		{args: "--csi module:v3.7.0/../x", refused: "is no version"},
		{args: "--csi image:driver", kind: true, refused: "want an image with registry and tag"},
		{args: "--csi archive:x", kind: true, refused: "with --cluster kind a CSI driver is an image or a release"},
		{args: "--csi archive:x", again: "--csi=archive:x"},
		{args: "--csi bin/mine", kind: true, refused: "with --cluster kind a CSI driver is an image or a release"},
		{args: "--csi bin/mine --csi-arg=--v=4 --csi-env A=1 --syncer none", again: "--csi=bin/mine --syncer=none --csi-arg=--v=4 --csi-env=A=1"},
		{args: "--csi upstream", refused: "want builtin, PATH, image:REF, archive:FILE or module:VERSION or off"},
		{args: "--csi-manifest m.yaml", kind: true, refused: "the built-in CSI driver has its own manifests"},
		{args: "--csi-replicas 3", again: "--csi-replicas=3"},
		{args: "--csi-replicas 1"},
		{args: "--csi-replicas 6", refused: "want a number from 1 to 5"},
		{args: "--csi-replicas -1", refused: "want a number from 1 to 5"},
		{args: "--csi-replicas 2", kind: true, refused: "the CSI driver runs as pods"},
		{args: "--csi none --csi-replicas 2", refused: "there is no driver that other flags could be about"},
		{args: "--csi-arg v", refused: "CSI drivers take flags alone"},
		{args: "--csi-env v", refused: "want NAME=VALUE"},
		{args: "--csi-env A=1", kind: true, refused: "the CSI driver runs as pods"},
		{args: "--csi-watch " + dir + "/mine", again: "--csi-watch=" + dir + "/mine"},
		{args: "--csi-watch " + dir + "/mine", kind: true, refused: "the CSI driver runs as pods"},
		{args: "--csi-watch " + dir + "/none/mine", refused: "there is no such folder"},
		{args: "--csi-config " + conf, again: "--csi-config=" + conf},
		{args: "--csi-config " + dir + "/none", refused: "--csi-config"},
		{args: "--csi ./x --syncer files:x", refused: "CSI syncer"},
		{args: "--csi module:v3.7.0 --csi-webhook", again: "--csi=module:v3.7.0 --csi-webhook"},
		{args: "--csi-webhook", refused: "builtin is a driver of this project, which has no webhook"},
		{args: "--csi off --csi-webhook", refused: "there is no driver that other flags could be about"},
		{args: "--csi ./x --syncer none --csi-webhook", refused: "the syncer is the program of the webhook"},
		{args: "--csi module:v3.7.0 --csi-webhook", kind: true, refused: "the sandbox deploys no webhook"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			f := &Flags{}
			cmd := &cobra.Command{}
			f.Bind(cmd, Builtin)
			if err := cmd.ParseFlags(strings.Fields(tc.args)); err != nil {
				t.Fatal(err)
			}
			err := f.Check()
			if err == nil {
				err = f.CheckCluster(tc.kind)
			}
			if tc.refused != "" {
				if r := report.Of(err); r.Exit != report.Usage || !strings.Contains(r.Message, tc.refused) || r.Try == "" {
					t.Errorf("%+v, want %q", r, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(f.ToArgs(), " "); got != tc.again {
				t.Errorf("again %q, want %q", got, tc.again)
			}
		})
	}
}

// The syncer beside a driver is that of its release, or one in its folder.
func TestSyncer(t *testing.T) {
	dir := t.TempDir()
	beside := filepath.Join(dir, "vsphere-syncer")
	if err := os.WriteFile(beside, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ driver, flag, want string }{
		{"module:v3.7.0", "", "module:v3.7.0"},
		{"module:v3.7.0", None, Builtin},
		{"image:registry.k8s.io/csi-vsphere/driver:v3.7.0", "", "image:registry.k8s.io/csi-vsphere/syncer:v3.7.0"},
		{"image:localhost/mine:v1", "", Builtin},
		{dir + "/mine", "", beside},
		{dir + "/mine", "./other", "./other"},
		{t.TempDir() + "/mine", "", Builtin},
	} {
		f := Flags{Driver: tc.driver, Syncer: tc.flag}
		driver, err := f.source()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.syncer(driver); err != nil || got.String() != tc.want {
			t.Errorf("%s, --syncer %q: %s, %v, want %s", tc.driver, tc.flag, got, err, tc.want)
		}
	}
}

// What a scenario needs decides whether there is a driver, and the flags which.
func TestJudged(t *testing.T) {
	for _, tc := range []struct{ flag, needed, want string }{
		{"", "", Off}, {"", Off, Off}, {"", Builtin, Builtin}, {"./mine", "", Off}, {"./mine", Builtin, "./mine"},
	} {
		if got := (&Flags{Driver: tc.flag, Args: []string{"--v=4"}}).Judged(tc.needed, 2); got.Driver != tc.want || tc.want != Off && got.Replicas != 2 {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
}

func TestCompletion(t *testing.T) {
	words, _ := drivers(nil, nil, "")
	if diff := cmp.Diff([]string{Builtin, Off, "image:", "archive:", "module:"}, words); diff != "" {
		t.Error(diff)
	}
	if words, directive := drivers(nil, nil, "b"); !cmp.Equal(words, []string{Builtin}) || directive != cobra.ShellCompDirectiveNoSpace {
		t.Errorf("%q, %d", words, directive)
	}
}

// A part has the logs of its components, each line with its component if there are several.
func TestLogs(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Items = []command.Sandbox{{Name: "default"}}
	e.State.LogFiles = map[string]string{}
	dir := t.TempDir()
	for _, name := range []string{"ccm", "csi-controller", "csi-attacher", "snapshot-controller", "node/worker-1"} {
		file := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(file, []byte("first of "+name+"\nlast of "+name+"\ntorn"), 0o600); err != nil {
			t.Fatal(err)
		}
		e.State.LogFiles[name] = file
	}
	for _, tc := range []struct{ args, want, code string }{
		{args: "", want: "first of csi-controller\nlast of csi-controller\ntorn"},
		{args: "controller --tail 1", want: "torn"},
		{args: "sidecars --tail 2", want: "csi-attacher: last of csi-attacher\ncsi-attacher: torn\n" +
			"snapshot-controller: last of snapshot-controller\nsnapshot-controller: torn\n"},
		{args: "csi-attacher --tail 1", want: "torn"},
		{args: "node --tail 2", want: "last of node/worker-1\ntorn"},
		{args: "worker-1 --tail 1", want: "torn"},
		{args: "worker-1 -o name", want: "log/node/worker-1\n"},
		{args: "all -o name", want: "log/csi-attacher\nlog/csi-controller\nlog/node/worker-1\nlog/snapshot-controller\n"},
		{args: "-o name", want: "log/csi-controller\n"},
		{args: "syncer", code: "not-found"},
		{args: "ccm", code: "not-found"},
		{args: "--tail -2", code: "usage"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e.Out.Reset()
			r := e.Run(t.Context(), NewCmdLogs(e.Deps), strings.Fields(tc.args)...)
			if r.Code != tc.code || tc.code != "" && r.Try == "" {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(tc.want, e.Out.String()); d != "" {
				t.Error(d)
			}
		})
	}
	if d := cmp.Diff([]string{"controller", "syncer", "webhook", "sidecars", "node", "all"}, clitest.Completions(t, NewCmdLogs(e.Deps).ValidArgsFunction)); d != "" {
		t.Error(d)
	}
}
