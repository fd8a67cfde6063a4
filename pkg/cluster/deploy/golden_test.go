package deploy

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite testdata")

// What is deployed, to the letter: the workloads, which differ from the manifests, and of the rest the names.
func TestGolden(t *testing.T) {
	d := newRig(t, Options{Speed: 10})
	for _, tc := range []struct {
		file   string
		render func() ([]*unstructured.Unstructured, error)
	}{
		{"ccm", func() ([]*unstructured.Unstructured, error) {
			return d.renderCCM(CCM{Image: "localhost/ccm:1", Args: []string{"--v=4"}}, 1)
		}},
		{"ccm-replicas", func() ([]*unstructured.Unstructured, error) {
			return d.renderCCM(CCM{Image: "localhost/ccm:1", Replicas: 2}, 1)
		}},
		{"ccm-no-control-plane", func() ([]*unstructured.Unstructured, error) { return d.renderCCM(CCM{Image: "localhost/ccm:1"}, 0) }},
		{"csi", func() ([]*unstructured.Unstructured, error) {
			return d.renderCSI(CSI{Image: "localhost/csi:1", Sidecars: "localhost/sidecars:1", Backend: BackendDevice, Light: "example/light", Policies: []string{"Gold"}, Zones: true}, 1)
		}},
		{"csi-dir", func() ([]*unstructured.Unstructured, error) {
			return d.renderCSI(CSI{
				Image: "localhost/csi:1", Sidecars: "localhost/sidecars:1", Backend: BackendDir, VolumesDir: "/volumes", SerialFile: "/kind/serial",
			}, 1)
		}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			all, err := tc.render()
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "testdata/"+tc.file+".yaml", printed(t, all))
		})
	}
}

func printed(t *testing.T, all []*unstructured.Unstructured) string {
	t.Helper()
	var b strings.Builder
	for _, o := range all {
		if o.GetLabels()[ManagedByLabel] != ManagedBy || o.GetLabels()[partLabel] == "" {
			t.Errorf("%s is not marked: %v", title(o), o.GetLabels())
		}
		if !isWorkload(o) {
			b.WriteString("# " + title(o) + "\n")
			continue
		}
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n" + string(data))
	}
	return b.String()
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", file, diff)
	}
}
