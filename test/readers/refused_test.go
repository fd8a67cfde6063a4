package readers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// No file that upstream takes is refused by ours without a row in the table of differences. The files are those that people posted.
func TestRefusedHasARow(t *testing.T) {
	const (
		control = "| control characters in user, password or server are sent |"
		form    = "| a `server` with a scheme or port, and a thumbprint without colons, are taken as they are |"
		another = "| a manifest, Helm values or `cluster.yml` in place of the file is a configuration without vCenters |"
	)
	rows := map[string]string{
		"backslash.ini": control, "escaped-user.yaml": control, "addresses.yaml": form, "thumbprints.yaml": form,
		"configmap.yaml": another, "configmap-ini.yaml": another, "secret.yaml": another, "secret-csi.yaml": another, "manifest.yaml": another,
		"helm-values.yaml": another, "helm-values-upstream.yaml": another, "cluster.yaml": another, "topology.yaml": another, "scenario.yaml": another,
	}
	page, err := os.ReadFile("../../docs/provider.md")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(wild), "reported", "*.[iy]*"))
	if err != nil || len(paths) < 25 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, bad := config.Load(name, data)
		theirs := readUpstream(data)
		if row, ok := rows[name]; ok && !strings.Contains(string(page), row) {
			t.Errorf("docs/provider.md has no row %q", row)
		} else if !ok && bad != nil && theirs.Error == "" {
			t.Errorf("%s: upstream takes it as %+v, and ours refuses it: %v", name, theirs, bad)
		}
		if bad == nil && theirs.Error != "" {
			t.Logf("%s: ours takes it, and upstream refuses it: %s", name, theirs.Error)
		}
	}
}
