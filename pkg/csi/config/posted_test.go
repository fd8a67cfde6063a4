package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
)

// Files of the kinds that people post, written for this test: each is read or refused as upstream's driver does.
func TestPosted(t *testing.T) {
	verdicts := map[string]struct {
		refused string // part of the error; empty for a file that is read
		warning string // part of a warning
		environ []string
	}{
		"backslash.conf":            {refused: `write \\ for a backslash`},
		"empty-values.conf":         {refused: `[VirtualCenter ""]`},
		"file-shares.conf":          {warning: "file volumes are on any vSAN datastore"},
		"foreign-keys.conf":         {warning: "[Global] qps: has no effect: unknown key"},
		"global-login.conf":         {},
		"host-and-port.conf":        {refused: "write vc.lab.example and port 8443"},
		"in-tree-sections.conf":     {warning: "[Workspace]: has no effect"},
		"label-domain.conf":         {refused: "the domain of the label must be one of"},
		"network-section.conf":      {warning: "[Network]: has no effect"},
		"no-login.conf":             {environ: []string{"VSPHERE_USER=svc-csi@vsphere.local", "VSPHERE_PASSWORD=hush"}},
		"only-zone.conf":            {warning: "[Labels] zone: has no effect"},
		"trailing-comma.conf":       {},
		"two-without-topology.conf": {refused: "several vCenters, and no topology-categories"},
		"unquoted-hash.conf":        {warning: "password: ends before the comment sign"},
		"zeros.conf":                {},
	}
	files, err := filepath.Glob("testdata/posted/*.conf")
	if err != nil || len(files) != len(verdicts) {
		t.Fatalf("%d files, %d verdicts, %v", len(files), len(verdicts), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want := verdicts[filepath.Base(file)]
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{string(data), strings.ReplaceAll(string(data), "\n", "\r\n")} {
				cfg, err := config.Load("csi-vsphere.conf", []byte(text), config.ReadOptions{Environment: want.environ})
				switch {
				case want.refused != "" && (err == nil || !strings.Contains(err.Error(), want.refused)):
					t.Errorf("not refused because of %q: %v", want.refused, err)
				case want.refused != "":
				case err != nil:
					t.Error(err)
				case want.warning == "" && len(cfg.Warnings) > 0 && !strings.Contains(cfg.Warnings[0], "list-volume-threshold"):
					t.Errorf("warnings %q", cfg.Warnings)
				case !strings.Contains(strings.Join(cfg.Warnings, "\n"), want.warning):
					t.Errorf("no warning with %q: %q", want.warning, cfg.Warnings)
				}
			}
		})
	}
}
