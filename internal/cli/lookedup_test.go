package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
)

// A version that does not exist is reported before anything is downloaded or compiled, whichever of the candidates it is.
func TestLookedUpFirst(t *testing.T) {
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	script := `#!/bin/sh
echo "$*" >> ` + asked + `
case "$*" in
*-versions*) echo k8s.io/cloud-provider-vsphere v1.34.0 v1.36.0;;
*v1.3.0*) echo "go: k8s.io/cloud-provider-vsphere@v1.3.0: reading https://proxy: 404 Not Found, This module version is not available." >&2; exit 1;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	kubernetes := filepath.Join(dir, "kubernetes")
	info, err := json.Marshal(contract.Info{Contract: contract.Version, Kubernetes: release.Default().Version, Platform: runtime.GOOS + "/" + runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kubernetes, []byte("#!/bin/sh\necho '"+string(info)+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VSPHERE_SANDBOX_KUBERNETES", kubernetes)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, line := range [][]string{
		{"smoke", "--ccm", "module:v1.36.0", "--baseline", "module:v1.3.0"},
		{"matrix", "--ccm", "builtin,module:v1.36.0,module:v1.3.0"},
	} {
		exit, text := execute(t, line...)
		if exit != report.Usage || !strings.Contains(text, "v1.3.0") || !strings.Contains(text, "module:v1.34.0") {
			t.Errorf("%v: exit status %d: %s", line, exit, text)
		}
	}
	went, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	for command := range strings.SplitSeq(strings.TrimSpace(string(went)), "\n") {
		if !strings.HasPrefix(command, "list -m ") {
			t.Errorf("go %s was run", command)
		}
	}
}
