package rbac

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite manifests/ccm/rbac.yaml")

// manifest is the configuration of manifests/ccm: kube-system, its Secret, and a Lease.
func manifest() Config {
	return Config{
		Namespace: "kube-system", ServiceAccount: "cloud-controller-manager", Pod: true,
		SecretNames: []string{"vsphere-cloud-secret"}, LeaderElection: true,
	}
}

// The manifest is generated from the objects that the sandbox creates: `go test ./pkg/provider/rbac -update`.
func TestManifest(t *testing.T) {
	const file = "../../../manifests/ccm/rbac.yaml"
	var b strings.Builder
	b.WriteString("# Generated from pkg/provider/rbac, which documents the reasons.\n")
	for i, o := range Objects(manifest()) {
		data, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(data)
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(data)); diff != "" {
		t.Errorf("%s is not what the code says; run this test with -update (-code +file):\n%s", file, diff)
	}
}
