package source_test

import (
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const tiny = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: tiny}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          hosts: [{name: esx-1}]
          vms: [{name: worker-1, role: worker}]
`

func TestSource(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"tiny.yaml": tiny, "plain": tiny, "bad.yaml": strings.Replace(tiny, "hosts:", "host:", 1), "single": "a file, not the topology",
		"scenario.yaml": "apiVersion: sandbox.vsphere/v1alpha1\nkind: Scenario\n", "vsphere.conf": "[Global]\nuser = a\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("dir.yaml", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		source, name string
		code, try    string // of the error, or its beginning
		message      string // part of it
	}{
		{source: "tiny.yaml", name: "tiny"},
		{source: "./tiny.yaml", name: "tiny"},
		{source: filepath.Join(dir, "tiny.yaml"), name: "tiny"},
		{source: "plain", name: "tiny"},
		{source: "single", name: "single"},
		{source: "./single", code: "topology-invalid", message: "./single:1:"},
		{source: "bad.yaml", code: "topology-invalid", message: `bad.yaml:9:11: spec.vcenters[0].datacenters[0].host: unknown key (did you mean "hosts"?)`, try: "vsphere-sandbox topology render zones-us-eu"},
		{source: "singel", code: "usage", message: `topology "singel": no built-in topology and no file has this name`, try: "vsphere-sandbox up single"},
		{source: "volcano", code: "usage", message: `topology "volcano"`, try: "vsphere-sandbox topology list   # single, supervisor, zones-per-cluster, zones-stretched, zones-us-eu; or the path of a topology file"},
		{source: "power-off", code: "usage", message: `"power-off" is a scenario, not a topology`, try: "vsphere-sandbox scenario run power-off"},
		{source: "lifecycle/power-off", code: "usage", message: `"lifecycle/power-off" is a scenario, not a topology`, try: "vsphere-sandbox scenario run lifecycle/power-off"},
		{source: "lifecycle", code: "usage", message: `"lifecycle" is a theme of scenarios, not a topology`, try: "vsphere-sandbox scenario run lifecycle"},
		{source: "scenario.yaml", code: "topology-invalid", message: "scenario.yaml:1:1: is a scenario, not a topology", try: "vsphere-sandbox scenario run scenario.yaml"},
		{source: "vsphere.conf", code: "topology-invalid", message: "vsphere.conf:1:1: is a vsphere.conf in INI, not a topology", try: "vsphere-sandbox up --vcenter-config vsphere.conf"},
		{source: "missing.yaml", code: "topology-unreadable", message: "missing.yaml"},
		{source: "./single.yaml", code: "topology-unreadable", message: "no such file"},
		{source: "dir.yaml", code: "topology-unreadable", message: "dir.yaml"},
	} {
		t.Run(tc.source, func(t *testing.T) {
			got, err := source.Load("up", tc.source, nil)
			if tc.code == "" {
				if err != nil || got.Metadata.Name != tc.name {
					t.Errorf("%v, %v", got, err)
				}
				return
			}
			r := report.Of(err)
			if bad := (topology.Errors{}); errors.As(err, &bad) != (tc.code == "topology-invalid") {
				t.Errorf("an error with problems %v", bad)
			}
			if r.Code != tc.code || r.Exit != report.Usage || !strings.Contains(r.Message, tc.message) || !strings.HasPrefix(r.Try, tc.try) {
				t.Errorf("ended with %+v", r)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	e := clitest.NewEnv(nil)
	var got source.Settings
	cmd := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return nil }}
	got.Bind(cmd)
	if r := e.Run(t.Context(), cmd, "--set", "a=1", "--set=b=x=y", "--set", "c="); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	want := source.Settings{{Name: "a", Value: "1"}, {Name: "b", Value: "x=y"}, {Name: "c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"--set=a=1", "--set=b=x=y", "--set=c="}, got.Args()); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"a", "=1", ""} {
		if err := got.Set(bad); report.Of(err).Exit != report.Usage {
			t.Errorf("--set %q: %v", bad, err)
		}
	}
}

func TestLoadSets(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("p.yaml", []byte(strings.Replace(tiny, "esx-1", "\"${esx}\"", 1)+"parameters: [{name: esx}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	top, err := source.Load("up", "p.yaml", source.Settings{{Name: "esx", Value: "host-9"}})
	if err != nil || top.Spec.VCenters[0].Datacenters[0].VMs[0].Host != "host-9" {
		t.Errorf("%v, %v", top, err)
	}
	for name, want := range map[string]string{"p.yaml": "p.yaml:11:14: parameters[0]: parameter \"esx\" has no default", "single": "single.yaml:11:3: parameters: there is no parameter \"exs\""} {
		settings := source.Settings{}
		if name == "single" {
			settings = source.Settings{{Name: "exs", Value: "x"}}
		}
		if _, err := source.Load("up", name, settings); err == nil || !strings.Contains(report.Of(err).Message, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		most, args int
		want       bool
	}{{0, 0, true}, {0, 5, true}, {1, 0, true}, {1, 1, false}} {
		if words, _ := source.Names(tc.most)(nil, make([]string, tc.args), ""); (len(words) > 0) != tc.want {
			t.Errorf("%+v: %v", tc, words)
		}
	}
}

// A file that was compressed says what is wrong with it as any other does.
func TestCompressed(t *testing.T) {
	t.Chdir(t.TempDir())
	zipped := func(name, text string) {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(f)
		_, err = z.Write([]byte(text))
		if err := errors.Join(err, z.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	zipped("tiny.yaml.gz", tiny)
	zipped("bad.yaml.gz", strings.Replace(tiny, "hosts:", "host:", 1))
	if err := os.WriteFile("plain.gz", []byte(tiny), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := source.Load("up", "tiny.yaml.gz", nil); err != nil || got.Metadata.Name != "tiny" {
		t.Errorf("%v, %v", got, err)
	}
	for name, want := range map[string]string{
		"bad.yaml.gz": `bad.yaml:9:11: spec.vcenters[0].datacenters[0].host: unknown key`,
		"plain.gz":    "plain.gz: gzip: invalid header", "missing.gz": "no such file",
	} {
		if _, err := source.Load("up", name, nil); err == nil || !strings.Contains(report.Of(err).Message, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
