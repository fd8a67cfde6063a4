package kubernetes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func TestMain(m *testing.M) {
	if status, done := clitest.StandIn(); done {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

func TestFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	knobs := []string{
		"--apiserver-arg", "a=1,2", "--apiserver-arg", "b=3", "--scheduler-arg", "c=4", "--feature-gates", "D=true", "--feature-gates", "E=false",
		"--runtime-config", "api/beta=true", "--audit-policy", file,
	}
	for _, tc := range []struct {
		args    []string
		of      Of
		refused string // "" for nothing
		again   []string
	}{
		{nil, Embedded, "", nil},
		{[]string{"--kubernetes", "builtin"}, Other, "", nil},
		{[]string{"--kubernetes", "v1.35"}, Embedded, "", []string{"--kubernetes", "v1.35"}},
		{[]string{"--kubernetes", "v1.35"}, Other, "--cluster embedded", nil},
		{[]string{"--kubernetes", "v1.12"}, Embedded, "does not have it", nil},
		{[]string{"--kubernetes", "latest"}, Embedded, "want a version", nil},
		{knobs, Embedded, "", knobs},
		{[]string{"--feature-gates", "D=true,E=false"}, Embedded, "", []string{"--feature-gates", "D=true", "--feature-gates", "E=false"}},
		{knobs, Other, "--apiserver-arg is for --cluster embedded and kind", nil},
		{knobs, Kind, "--audit-policy is for --cluster embedded: the nodes of kind", nil},
		{knobs[:len(knobs)-2], Kind, "", knobs[:len(knobs)-2]},
		{[]string{"--kubernetes", "v1.35"}, Kind, "--cluster embedded", nil},
		{[]string{"--feature-gates", "D"}, Embedded, "want NAME=true or NAME=false", nil},
		{[]string{"--scheduler-config", file + ".none"}, Embedded, "there is no such file", nil},
		{[]string{"--admission-config", filepath.Dir(file)}, Embedded, "is not a regular file", nil},
	} {
		var f Flags
		cmd := &cobra.Command{Use: "up"}
		f.Bind(cmd)
		if err := cmd.ParseFlags(tc.args); err != nil {
			t.Fatal(err)
		}
		err := f.Check(tc.of)
		if tc.refused != "" {
			if e, ok := err.(*report.Error); !ok || e.Exit != report.Usage || !strings.Contains(err.Error(), tc.refused) || e.Try == "" {
				t.Errorf("%q: %v", tc.args, err)
			}
			continue
		}
		if diff := cmp.Diff(tc.again, f.ToArgs()); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", tc.args, err, diff)
		}
	}
}

// What flags say counts more than what topologies do.
func TestFor(t *testing.T) {
	f := Flags{knobs: knobs{gates: []string{"A=true"}, Knobs: contract.Knobs{RuntimeConfig: []string{"api/all=false"}}}}
	if err := f.Check(Embedded); err != nil {
		t.Fatal(err)
	}
	all := f.For(topology.Kubernetes{
		Version: "v1.36", FeatureGates: map[string]bool{"A": false, "B": true}, RuntimeConfig: map[string]bool{"api/all": true, "x/v1": true},
	})
	want := contract.Knobs{
		FeatureGates: map[string]bool{"A": true, "B": true}, RuntimeConfig: []string{"api/all=true", "x/v1=true", "api/all=false"},
	}
	if diff := cmp.Diff(want, all.knobs.Knobs); all.Source != "v1.36" || diff != "" {
		t.Errorf("%q\n%s", all.Source, diff)
	}
	if f.Source = "v1.35"; f.For(topology.Kubernetes{Version: "v1.36"}).Source != "v1.35" {
		t.Error("the topology's release counts more than the flag's")
	}
}

// This test is the built-in program.
func TestResolve(t *testing.T) {
	e := clitest.NewEnv(nil)
	got, err := (&Flags{}).Resolve(t.Context(), e.Streams)
	if err != nil || got.Path != os.Getenv(programs.Env) || got.Version != release.Default().Version {
		t.Errorf("%+v, %v", got, err)
	}
	f := Flags{Source: "dir:" + t.TempDir()}
	if _, err := f.Resolve(t.Context(), e.Streams); err == nil || err.(*report.Error).Exit != report.Prerequisite {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestList(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdList(e.Deps, nil), "-o", "json"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	var got struct{ Items []row }
	if err := json.Unmarshal(e.Out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	where := map[string]int{}
	for _, r := range got.Items {
		where[r.Where]++
		if r.Default != (r.Where == programs.Builtin) {
			t.Errorf("%+v", r)
		}
	}
	if diff := cmp.Diff(map[string]int{programs.Builtin: 1, "missing": len(release.All()) - 1}, where); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFetch(t *testing.T) {
	for name, want := range map[string]int{"v1.12": report.Usage, "dir:x": report.Usage, "v1.35": report.Prerequisite} { // no checkout
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		t.Setenv("HOME", t.TempDir())
		e := clitest.NewEnv(nil)
		if r := e.Run(t.Context(), NewCmdFetch(e.Deps, nil), name); r.Exit != want {
			t.Errorf("%s: ended with %+v", name, r)
		}
	}
}

func TestRemove(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	r, _ := release.Find("v1.35")
	if err := os.MkdirAll(filepath.Join(dir, "vsphere-sandbox", "kubernetes", r.Version+"-contract1-x-y"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"removed ", "is not in the cache"} {
		e := clitest.NewEnv(nil)
		if r := e.Run(t.Context(), NewCmdRemove(e.Deps, nil), "v1.35"); r.Exit != 0 || !strings.Contains(e.Out.String(), want) {
			t.Errorf("ended with %+v, said %q", r, e.Out)
		}
	}
}
