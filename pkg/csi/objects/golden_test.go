package objects

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite crds/, and what of manifests/csi and the chart is printed from here")

// check compares a file with its expected content, or updates it.
func check(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("%s is not what it should be; run this test with -update (-should +is):\n%s", file, diff)
	}
}

const snapshotModule = "github.com/kubernetes-csi/external-snapshotter/client/v8"

// The definitions of snapshots are those of the module that the sidecars use, without descriptions.
func TestSnapshotDefinitions(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", snapshotModule).Output()
	if err != nil {
		t.Fatal(err)
	}
	version, dir, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
	if !ok {
		t.Fatalf("%s: it is not in the module cache: %q", snapshotModule, out)
	}
	for _, resource := range []string{"volumesnapshotclasses", "volumesnapshotcontents", "volumesnapshots"} {
		name := "snapshot.storage.k8s.io_" + resource + ".yaml"
		data, err := os.ReadFile(filepath.Join(dir, "config", "crd", name))
		if err != nil {
			t.Fatal(err)
		}
		header := fmt.Sprintf("# From %s %s,\n# config/crd/%s, without its descriptions. Copyright The Kubernetes Authors,\n"+
			"# licensed under the Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0\n", snapshotModule, version, name)
		check(t, filepath.Join("crds", name), header+undescribed(t, data))
	}
}

// undescribed returns a definition without descriptions.
func undescribed(t *testing.T, definition []byte) string {
	t.Helper()
	var all any
	if err := yaml.Unmarshal(definition, &all); err != nil {
		t.Fatal(err)
	}
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, sentence := v["description"].(string); sentence { // not a field with that name
				delete(v, "description")
			}
			for _, below := range v {
				strip(below)
			}
		case []any:
			for _, below := range v {
				strip(below)
			}
		}
	}
	strip(all)
	data, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// printed is a file with objects.
func printed(t *testing.T, comment string, objects ...runtime.Object) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# " + comment + "\n")
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		b.WriteString(marshal(t, o))
	}
	return b.String()
}

// chartProcess is the chart's data for the roles of a process.
type chartProcess struct {
	Name  string              `json:"name"`
	Lease string              `json:"lease,omitempty"`
	Rules []rbacv1.PolicyRule `json:"rules"`
}

// The chart renders roles from the generated file.
func TestChartRules(t *testing.T) {
	var all []chartProcess
	for _, p := range components() {
		all = append(all, chartProcess{p.name, p.lease, p.rules})
	}
	data, err := yaml.Marshal(map[string]any{"processes": all})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "../../../charts/vsphere-csi/files/rules.yaml", "# Generated from pkg/csi/objects, which documents the reasons.\n"+string(data))
}

// marshal omits the fields that a new object does not have.
func marshal(t *testing.T, o runtime.Object) string {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	if meta, ok := content["metadata"].(map[string]any); ok && meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	if spec, ok := content["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(content, "spec")
	}
	data, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// manifest is the configuration of manifests/csi: the controller with its sidecars in a pod, and a Secret.
func manifest() Config {
	return Config{OnePod: true, LeaderElection: true, SecretNames: []string{"vsphere-csi-secret"}}
}

// manifests/csi is generated from these objects: `go test ./pkg/csi/objects -update`.
func TestManifests(t *testing.T) {
	const dir = "../../../manifests/csi/"
	const comment = "Generated from pkg/csi/objects, which documents the reasons."
	c := manifest()
	check(t, dir+"namespace.yaml", printed(t, comment, Namespace(c)))
	check(t, dir+"rights.yaml", printed(t, comment, Rights(c)...))
	classes := []runtime.Object{Driver(c)}
	for _, class := range StorageClasses(c) {
		classes = append(classes, class)
	}
	check(t, dir+"classes.yaml", printed(t, comment, append(classes, SnapshotClass())...))

	definitions, err := Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions {
		name := d.GetName() + ".yaml"
		comment := "Generated from pkg/csi/objects."
		if strings.HasSuffix(d.GetName(), ".snapshot.storage.k8s.io") {
			comment = "Of " + snapshotModule + ", see pkg/csi/objects/crds. Copyright The Kubernetes Authors,\n" +
				"# licensed under the Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0"
		}
		text := printed(t, comment, d)
		check(t, dir+"definitions/"+name, text)
		check(t, "../../../charts/vsphere-csi/crds/"+name, text)
	}
}
