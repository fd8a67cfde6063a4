package scenario_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

const stranger = `apiVersion: sandbox.vsphere/v1alpha1
kind: Scenario
metadata: {name: stranger}
topology: single
components:
  ccm:
    source: ./evil.sh
    args: [--node-monitor-period=5s, --kubeconfig=/home/x/.kube/config, --v=4]
    env:
      VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME: cluster
      LD_PRELOAD: ./evil.so
steps:
  - run: [kubectl, get, nodes]
  - {inject: vm.power-off, on: {vm: worker-1}, as: off}
  - run: [kubectl, --kubeconfig, evil.yaml, get, ns]
  - heal: off
  - {run: [vsphere-sandbox, events, export, /home/x/.bashrc, --force]}
  - {run: [vsphere-sandbox, down, --name, victim]}
`

// Everything by which a file of a stranger starts a program or reaches out of its sandbox is found, where it stands.
func TestReaches(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "stranger.yaml")
	write(t, file, stranger)
	s, err := scenario.LoadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []scenario.Reach{
		{Line: 7, Path: "components.ccm.source", Does: "starts the program " + filepath.Join(dir, "evil.sh") + " as cloud controller manager"},
		{Line: 8, Path: "components.ccm.args[1]", Does: "starts the cloud controller manager with --kubeconfig=/home/x/.kube/config"},
		{Line: 11, Path: "components.ccm.env.LD_PRELOAD", Does: "sets LD_PRELOAD for the cloud controller manager"},
		{Line: 15, Path: "steps[2].run", Does: "runs kubectl --kubeconfig with a kubeconfig that the scenario names, which may start programs and is of another cluster"},
		{Line: 17, Path: "steps[4].run", Does: "runs vsphere-sandbox events export, which writes a file"},
		{Line: 18, Path: "steps[5].run", Does: "runs vsphere-sandbox down on another sandbox"},
	}
	if d := cmp.Diff(want, s.Reaches()); d != "" {
		t.Error(d)
	}
	if s.Folder != dir {
		t.Errorf("its folder is %q", s.Folder)
	}
}

// Every source of a program but the built-in one is a reach, and a path is relative to the file.
func TestSourcesAreReaches(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "source.yaml")
	for source, is := range map[string]string{
		"": "", "builtin": "builtin", "./x": filepath.Join(dir, "x"), "x": filepath.Join(dir, "x"), "../x": filepath.Join(filepath.Dir(dir), "x"), "/bin/x": "/bin/x",
		"archive:x.tar": "archive:" + filepath.Join(dir, "x.tar"), "module:v1.36.0": "module:v1.36.0", "image:example.com/x:v1": "image:example.com/x:v1", "moon:x": "moon:x",
	} {
		write(t, file, header+"- {note: x}\ncomponents: {ccm: {source: \""+source+"\"}}\n")
		s, err := scenario.LoadFile(file)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if got := s.Components.CCM.Source; got != is {
			t.Errorf("%s: is %s, want %s", source, got, is)
		}
		if trusted := source == "" || source == "builtin"; (len(s.Reaches()) == 0) != trusted {
			t.Errorf("%s: %v", source, s.Reaches())
		}
	}
}

// The scenarios of the catalogue need no trust, by their content: not by a name, and not with a byte more.
func TestCatalogueIsTrusted(t *testing.T) {
	race.SkipSlow(t)
	reaching := 0
	for _, e := range scenarios.Catalogue() {
		data, err := fs.ReadFile(scenarios.FS(), e.Path)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"copied.yaml": true, filepath.Join("scenarios", e.Path): false} {
			file := filepath.Join(t.TempDir(), name)
			text := string(data)
			if !want {
				text += "\n# a change\n"
			}
			write(t, file, text)
			s, err := scenario.LoadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if want && len(s.Reaches()) > 0 {
				t.Errorf("%s: needs trust: %v", e.Path, s.Reaches())
			}
			if !want && len(s.Reaches()) > 0 {
				reaching++
			}
		}
		s, err := scenario.LoadCatalogue(e.Theme + "/" + e.Name)
		if err != nil || len(s.Reaches()) > 0 {
			t.Errorf("%s: %v, %v", e.Path, err, s)
		}
	}
	if reaching == 0 {
		t.Error("none of them would need trust if it were a stranger's, so that this shows nothing")
	}
}

// A value that only steps know cannot make a command that reads into another one.
func TestValuesDoNotReach(t *testing.T) {
	text := header + "- set: {x: {node: worker-1, field: labels.evil}}\n- run: [kubectl, get, \"${x}\"]\n"
	s, err := scenario.Load("late.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Reaches(); len(got) > 0 {
		t.Errorf("it needs trust: %v", got)
	}
	for value, message := range map[string]string{
		"nodes":                  "",
		"--kubeconfig=evil.yaml": "with the values of set steps, it runs kubectl get with a kubeconfig that the scenario names",
	} {
		ran := 0
		f, labeled := newFake(), node("worker-1", "True")
		labeled.Node.Labels = map[string]string{"evil": value}
		f.put(labeled)
		out := scenario.Run(t.Context(), s, f, scenario.Options{Command: func(context.Context, scenario.Command) (scenario.Output, error) {
			ran++
			return scenario.Output{}, nil
		}})
		if step := out.Steps[1]; !strings.HasPrefix(step.Message, message) || (ran == 0) != (message != "") {
			t.Errorf("%s: ran %d times: %+v", value, ran, step)
		}
	}
}

// A topology is read from the folder of the scenario or below it. Of what is elsewhere nothing is read, nor quoted.
func TestTopologyStaysInItsFolder(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "scenario")
	inside := "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: inside}\ninclude: [rest.yaml]\n"
	rest := "spec: {vcenters: [{name: vc, datacenters: [{name: dc, hosts: [{name: esx-1}], vms: [{name: worker-1, role: worker}]}]}]}\n"
	for name, text := range map[string]string{
		"secret.yaml": "root:secret-of-elsewhere:1\n", "scenario/here.yaml": inside, "scenario/rest.yaml": rest,
		"scenario/below/there.yaml": inside, "scenario/below/rest.yaml": rest, "scenario/below/up.yaml": strings.Replace(inside, "rest.yaml", "../rest.yaml", 1),
	} {
		write(t, filepath.Join(outer, name), text)
	}
	for link, to := range map[string]string{"link.yaml": "../secret.yaml", "absolute.yaml": filepath.Join(outer, "secret.yaml"), "folder": "..", "fine.yaml": "here.yaml"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "s.yaml")
	const refused = "must be a file in this file's own folder or below it"
	for use, want := range map[string]string{
		"here.yaml": "", "./here.yaml": "", "below/there.yaml": "", "below/../here.yaml": "", "fine.yaml": "",
		"../../../etc/shadow": refused, "../secret.yaml": refused, "below/../../secret.yaml": refused, "folder/../../secret.yaml": refused,
		"/etc/shadow": "must be relative to this file", filepath.Join(outer, "secret.yaml"): "must be relative to this file",
		"link.yaml": "path escapes from parent", "absolute.yaml": "path escapes from parent", "folder/secret.yaml": "path escapes from parent",
		"below/up.yaml": "must be a file in the topology's own folder or below it", "below/none.yaml": "no such file",
	} {
		write(t, file, strings.Replace(header, "topology: single", "topology: "+use, 1)+"- {note: x}\n")
		for how, load := range map[string]func() error{
			"a file":               func() error { _, err := scenario.LoadFile(file); return err },
			"a file of a cwd":      func() error { t.Chdir(dir); _, err := scenario.LoadFile("s.yaml"); return err },
			"one of a file system": func() error { _, err := scenario.LoadFS(os.DirFS(outer), "scenario/s.yaml"); return err },
		} {
			err := load()
			if how == "one of a file system" && (strings.Contains(use, "link") || strings.Contains(use, "absolute") || use == "folder/secret.yaml" || want == "must be relative to this file" || want == refused) {
				// It checks links, and reports invalid names, in its own way.
				if want == refused && err == nil {
					t.Errorf("%s, %s: was read", use, how)
				}
				continue
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v, want %q", use, how, err, want)
			}
			if err != nil && strings.Contains(err.Error(), "secret-of") {
				t.Errorf("%s, %s: quotes what is outside: %v", use, how, err)
			}
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
