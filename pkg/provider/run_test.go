package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunRefuses(t *testing.T) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "VSPHERE_") {
			t.Setenv(name, "")
		}
	}
	conf := filepath.Join(t.TempDir(), "vsphere.conf")
	if err := os.WriteFile(conf, []byte("global: {server: vc}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{"--cloud-config=" + conf, "vsphere.conf:1: global.server: credentials are missing"},
		{"--cloud-config=/does/not/exist", "/does/not/exist: no such file or directory"},
		{"", "no vCenter: --cloud-config is missing, and neither VSPHERE_VCENTER nor VSPHERE_VCENTER_<id> is set"},
		{"--bogus", "unknown flag: --bogus"},
	} {
		if err := Run(t.Context(), strings.Fields(tc.args)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.args, err, tc.want)
		}
	}
}

// Without a file the environment is the configuration, with upstream's names.
func TestCloudConfigFromEnvironment(t *testing.T) {
	cmd, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := cmd.cloudConfig([]string{
		"VSPHERE_VCENTER=vc.example", "VSPHERE_USER=u", "VSPHERE_PASSWORD=p=q", "VSPHERE_LABEL_REGION=r", "VSPHERE_LABEL_ZONE=z",
		"VSPHERE_VCENTER_2=vc2.example", "VCENTER_2_USERNAME=u2", "VCENTER_2_PASSWORD=p2", "VCENTER_2_PORT=8443",
		"POD_NAME=ccm-1", "POD_NAMESPACE=kube-system", "POD_UID=42",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.VCenters) != 2 || cfg.Labels.Zone != "z" {
		t.Fatalf("%+v", cfg)
	}
	for _, vc := range cfg.VCenters {
		want := [3]any{"u", "p=q", 443}
		if vc.Server == "vc2.example" {
			want = [3]any{"u2", "p2", 8443}
		}
		if got := [3]any{vc.User, vc.Password, vc.Port}; got != want {
			t.Errorf("%s: %v, want %v", vc.Server, got, want)
		}
	}
	if o := cmd.provider; o.ConfigFile != "" || o.Pod != (Pod{"kube-system", "ccm-1", "42"}) {
		t.Errorf("file %q, pod %+v", o.ConfigFile, o.Pod)
	}
	if _, err := cmd.cloudConfig([]string{"VSPHERE_VCENTER=vc.example"}); err == nil || !strings.Contains(err.Error(), "credentials are missing") {
		t.Errorf("without credentials: %v", err)
	}
}
