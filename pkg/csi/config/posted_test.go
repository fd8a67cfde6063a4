package config_test

import (
	"cmp"
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
		form    config.Format // of the file; CSI when empty
	}{
		"a-upstream-example":         {warning: "file volumes are on any vSAN datastore"},
		"b-tkg-network":              {warning: "[Network]: has no effect"},
		"c-rancher":                  {},
		"ccm-password-hash":          {form: config.Cloud, warning: "password: ends before the comment sign"},
		"d-rke2-empty":               {refused: `[VirtualCenter ""] has an empty name`},
		"e-openshift":                {environ: []string{"VSPHERE_USER=svc-csi@vsphere.local", "VSPHERE_PASSWORD=hush"}},
		"f1-password-backslash":      {refused: `write \\ for a backslash`},
		"f2-password-unquoted-hash":  {warning: "password: ends before the comment sign"},
		"f3-password-quote":          {refused: "the quotes of the value of password are not closed"},
		"f4-user-backslash":          {refused: `write \\ for a backslash`},
		"f5-password-newline-escape": {},
		"g-six-vcenters":             {refused: "6 vCenters, at most 5 are allowed"},
		"h-two-vcenters-no-topology": {refused: "several vCenters, and no topology-categories"},
		"i-cluster-id-65":            {refused: "cluster-id: is longer than 64 characters"},
		"j-label-domain":             {refused: "the domain of the label must be one of"},
		"k-zeros":                    {warning: "list-volume-threshold: has no effect"},
		"k2-large":                   {refused: "33 is not from 1 to 32"},
		"n-pvcprotection":            {warning: "cnspvcprotection-cleanup-intervalinmin: has no effect"},
		"o-workspace-disk":           {warning: "[Workspace]: has no effect"},
		"q-twice":                    {warning: "cluster-id"},
		"r1-only-region":             {warning: "[Labels] region: has no effect"},
		"r2-only-zone":               {warning: "[Labels] zone: has no effect"},
		"r3-labels-empty":            {},
		"r4-one-category":            {},
		"s-trailing-comma":           {},
		"t1-host-port":               {refused: "write vc.lab.example and port 8443"},
		"t2-host-url":                {refused: "without scheme, port or path, write vc.lab.example"},
		"x-thumbprint":               {refused: "must be a SHA-1 or SHA-256 fingerprint with colons"},
		"y-user-no-domain":           {warning: "has no domain"},
		"z-secret-name":              {warning: "secret-name"},
		"zz-ca-missing":              {},
		"zz-empty-cluster-id":        {},
		"zz-no-cluster-id":           {},
		"zz-unknown-key":             {warning: "[Global] qps: has no effect: unknown key"},
	}
	files, err := filepath.Glob("testdata/posted/*.conf")
	if err != nil || len(files) != len(verdicts) {
		t.Fatalf("%d files, %d verdicts, %v", len(files), len(verdicts), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".conf")
		t.Run(name, func(t *testing.T) {
			want, ok := verdicts[name]
			if !ok {
				t.Fatal("it has no verdict")
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{string(data), strings.ReplaceAll(string(data), "\n", "\r\n")} {
				cfg, err := config.Load(name, []byte(text), config.ReadOptions{Format: cmp.Or(want.form, config.CSI), ClusterID: "uid", Environment: want.environ})
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
