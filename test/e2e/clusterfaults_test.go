package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/kube"
)

// Every fault of the cluster's own side does to a real cluster what it says, and is gone when it is healed. Their own tests
// have an API server of pretense.
func TestClusterFaults(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "cluster-faults.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kube.Kinds() {
		if !strings.Contains(string(data), "inject: "+k.Name+",") {
			t.Errorf("%s is not in it", k.Name)
		}
	}
	h := newHome(t)
	r := h.Try("--name", "cluster-faults", "scenario", "run", "--trust", h.File("cluster-faults.yaml", string(data)), "--patience", "2")
	if r.Code != 0 {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
}
