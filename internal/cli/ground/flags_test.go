package ground

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// parse reads flags as a command does that has those of every cluster.
func parse(t *testing.T, args ...string) *Flags {
	t.Helper()
	f := &Flags{}
	cmd := &cobra.Command{Use: "up"}
	f.Bind(cmd)
	f.BindOutside(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return f
}

// requireRefused wants a usage error with these words; none when words are empty.
func requireRefused(t *testing.T, err error, words string) {
	t.Helper()
	var e *report.Error
	switch {
	case words == "" && err != nil:
		t.Errorf("refused: %v", err)
	case words != "" && (!errors.As(err, &e) || e.Exit != report.Usage || !strings.Contains(e.Error(), words)):
		t.Errorf("%v, want a usage error with %q", err, words)
	}
}

func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("kind.yaml", []byte("kind: Cluster\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args    string
		refused string
		again   string
	}{
		{},
		{args: "--cluster embedded"},
		{args: "--cluster kind", again: "--cluster=kind"},
		{args: "--cluster kind --kind-image a/b:1 --kind-config kind.yaml", again: "--cluster=kind --kind-config=kind.yaml --kind-image=a/b:1"},
		{args: "--cluster kind --kind-config none.yaml", refused: "--kind-config none.yaml: there is no such file"},
		{args: "--cluster kind --kind-volumes auto", again: "--cluster=kind"},
		{args: "--cluster kind --kind-volumes dir", again: "--cluster=kind --kind-volumes=dir"},
		{args: "--cluster kind --kind-volumes tape", refused: "--kind-volumes tape: want auto, device, dir"},
		{args: "--kind-volumes dir", refused: "--kind-volumes is for --cluster kind"},
		{args: "--kind-image a/b:1", refused: "--kind-image is for --cluster kind"},
		{args: "--kind-image a/b:1 --kind-config kind.yaml", refused: "--kind-config is for --cluster kind"},
		{args: "--cluster kind --context c --kubeconfig k", refused: "--context is for --cluster existing"},
		{args: "--cluster minikube", refused: "--cluster minikube: want embedded, kind or existing"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			f := parse(t, strings.Fields(tc.args)...)
			err := f.Check()
			requireRefused(t, err, tc.refused)
			if err != nil {
				return
			}
			again := f.ToArgs()
			if got := strings.Join(again, " "); got != tc.again {
				t.Errorf("again %q, want %q", got, tc.again)
			}
			// What is said again is understood as the same.
			same := parse(t, again...)
			if err := same.Check(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(f.Of(true), same.Of(true)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOf(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("kind.yaml", []byte("kind: Cluster\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := parse(t, "--cluster=kind", "--kind-config=kind.yaml")
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
	if k := f.Of(true).Kind; k == nil || string(k.Config) != "kind: Cluster\n" || k.ConfigFile != "kind.yaml" || !k.Retain || !f.Podded() {
		t.Errorf("%+v", k)
	}
	if f := parse(t); f.Of(true).Kind != nil || f.Podded() {
		t.Error("kind, where nobody asked for it")
	}
}

func TestFits(t *testing.T) {
	for _, tc := range []struct {
		name, cluster string
		ccm           ccm.Flags
		refused       string
	}{
		{name: "process", cluster: Embedded, ccm: ccm.Flags{Source: "image:a/b:1", Args: []string{"--v=4"}, Env: []string{"A=b"}, Replicas: 2}},
		{name: "manifest for a process", cluster: Embedded, ccm: ccm.Flags{Manifest: "m.yaml"}, refused: "--ccm-manifest is for --cluster kind"},
		{name: "built-in", cluster: Kind, ccm: ccm.Flags{Args: []string{"--v=4"}, Replicas: 2}},
		{name: "built-in with variables", cluster: Kind, ccm: ccm.Flags{Env: []string{"A=b"}}, refused: "--ccm-env"},
		{name: "program", cluster: Kind, ccm: ccm.Flags{Source: "./my-ccm", Args: []string{"--v=4"}, Env: []string{"A=b"}, Replicas: 2}},
		{name: "program that somebody has made an image of", cluster: Kind, ccm: ccm.Flags{Source: "./my-ccm", Manifest: "m.yaml"}},
		{name: "and arguments", cluster: Kind, ccm: ccm.Flags{Source: "./my-ccm", Manifest: "m.yaml", Args: []string{"--v=4"}}, refused: "--ccm-arg and --ccm-replicas"},
		{name: "release", cluster: Kind, ccm: ccm.Flags{Source: "module:v1.36.0", Replicas: 1}},
		{name: "replicas of a release", cluster: Kind, ccm: ccm.Flags{Source: "module:v1.36.0", Replicas: 2}, refused: "module:v1.36.0 is deployed with its own manifest"},
		{name: "watched", cluster: Kind, ccm: ccm.Flags{Watch: "bin/ccm", Args: []string{"--v=4"}, Env: []string{"A=b"}}},
		{name: "watched and a manifest", cluster: Kind, ccm: ccm.Flags{Watch: "bin/ccm", Manifest: "m.yaml"}, refused: "--ccm-watch and --ccm-manifest exclude each other"},
		{name: "none", cluster: Embedded, ccm: ccm.Flags{Source: ccm.None, MayBeNone: true}},
		{name: "none on kind", cluster: Kind, ccm: ccm.Flags{Source: ccm.None, MayBeNone: true}, refused: "--ccm none is for --cluster embedded"},
		{name: "nonsense", cluster: Kind, ccm: ccm.Flags{Source: "module:one"}, refused: "module:one"},
	} {
		t.Run(tc.name, func(t *testing.T) { requireRefused(t, (&Flags{Cluster: tc.cluster}).CheckCCM(&tc.ccm), tc.refused) })
	}
}
