package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
)

const cloudYAML = `
global: {user: u, password: p, caFile: /ca}
vcenter:
  west: {server: vc-west.example, port: 8443, datacenters: [dc1]}
labels: {region: k8s-region, zone: k8s-zone}
`

// The cloud controller manager's file configures the driver too.
func TestCloud(t *testing.T) {
	got, err := config.Load("vsphere.conf", []byte(cloudYAML), config.ReadOptions{ClusterID: "uid"})
	if err != nil {
		t.Fatal(err)
	}
	vc := got.VCenters[0]
	if vc.Tenant != "west" || vc.Server != "vc-west.example" || vc.Port != 8443 || vc.User != "u" || vc.CAFile != "/ca" || !cmp.Equal(vc.Datacenters, []string{"dc1"}) {
		t.Errorf("%+v", vc)
	}
	if got.Form != config.Cloud || got.ClusterID != "uid" || !cmp.Equal(got.Categories, []string{"k8s-region", "k8s-zone"}) || got.SnapshotLimit != 3 || got.Page != 1000 {
		t.Errorf("%+v", got)
	}
	if _, err := config.Load("vsphere.conf", []byte(cloudYAML), config.ReadOptions{}); err == nil || !strings.Contains(err.Error(), "cluster-id is missing") {
		t.Errorf("without a cluster id: %v", err)
	}
	if _, err := config.Load("vsphere.conf", []byte(cloudYAML+"labells: {}\n"), config.ReadOptions{ClusterID: "uid"}); err == nil || !strings.Contains(err.Error(), "vsphere.conf:6: labells: unknown key, did you mean labels?") {
		t.Errorf("unknown key: %v", err)
	}
	half := strings.Replace(cloudYAML, ", zone: k8s-zone", "", 1)
	if cfg, err := config.Load("vsphere.conf", []byte(half), config.ReadOptions{ClusterID: "uid"}); err != nil || len(cfg.Categories) != 0 || len(cfg.Warnings) != 1 {
		t.Errorf("a region without a zone: %+v, %v", cfg, err)
	}
}

func TestForm(t *testing.T) {
	shared := "[Global]\nuser = u@d\npassword = p\n[VirtualCenter \"vc\"]\n"
	for name, tc := range map[string]struct {
		file, text string
		want       config.Format
	}{
		"YAML":                   {"csi-vsphere.conf", cloudYAML, config.Cloud},
		"by its name":            {"/etc/cloud/csi-vsphere.conf", shared, config.CSI},
		"cloud INI":              {"vsphere.conf", shared, config.Cloud},
		"by a key":               {"vsphere.conf", shared + "[Global]\ncluster-id = x\n", config.CSI},
		"by a section":           {"x.conf", shared + "[Snapshot]\n", config.CSI},
		"by a key of no effect":  {"x.conf", shared + "migration-datastore-url = x\n", config.CSI},
		"comments in front":      {"csi-x", "# c\n; c\n" + shared, config.CSI},
		"byte order mark":        {"csi-x", "\uFEFF" + shared, config.CSI},
		"categories are enough":  {"x.conf", shared + "[Labels]\ntopology-categories = a\n", config.CSI},
		"zones are not":          {"x.conf", shared + "[Labels]\nregion = a\nzone = b\n", config.Cloud},
		"distribution is enough": {"x.conf", "[Global]\ncluster-distribution = d\nuser = u@d\npassword = p\n[VirtualCenter \"vc\"]\n", config.CSI},
	} {
		cfg, err := config.Load(tc.file, []byte(tc.text), config.ReadOptions{ClusterID: "uid"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if cfg.Form != tc.want {
			t.Errorf("%s: %s", name, cfg.Form)
		}
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := config.LoadFile(filepath.Join(dir, "none"), config.ReadOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	big := filepath.Join(dir, "csi-big")
	if err := os.WriteFile(big, []byte(minimal+strings.Repeat("# x\n", 1<<19)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.LoadFile(big, config.ReadOptions{Format: config.CSI}); err == nil || !strings.Contains(err.Error(), "is longer than the 1 MiB") {
		t.Errorf("big file: %v", err)
	}
	secrets := filepath.Join(dir, "secrets")
	if err := os.Mkdir(secrets, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load("csi-x", []byte("[Global]\ncluster-id = c\n[VirtualCenter \"vc\"]\n"), config.ReadOptions{DefaultSecrets: secrets})
	if err != nil || cfg.VCenters[0].SecretsDirectory != secrets {
		t.Errorf("default secrets: %+v, %v", cfg, err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(full)
	f.Add(cloudYAML)
	f.Add(minimal)
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range []config.Format{config.Auto, config.CSI, config.Cloud} {
			cfg, all := config.Check("f", []byte(text), config.ReadOptions{Format: form, ClusterID: "c"})
			if cfg == nil && len(all) == 0 {
				t.Error("neither a configuration nor a reason why there is none")
			}
			if cfg != nil && len(cfg.VCenters) == 0 {
				t.Error("a configuration without a vCenter")
			}
		}
	})
}
