package device_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/device"
)

func TestNodeID(t *testing.T) {
	for serial, want := range map[string]string{
		"VMware-56 4d 39 5e d8 07 e1 8a-cb 25 b7 9f 65 eb 2b 9f\n": "564d395e-d807-e18a-cb25-b79f65eb2b9f",
		"VMware-564D395ED807E18ACB25B79F65EB2B9F":                  "564d395e-d807-e18a-cb25-b79f65eb2b9f",
		"0":            "",
		"":             "",
		"VMware-56 4d": "",
		"56 4d 39 5e d8 07 e1 8a-cb 25 b7 9f 65 eb 2b 9f":        "",
		"VMware-zz 4d 39 5e d8 07 e1 8a-cb 25 b7 9f 65 eb 2b 9f": "",
	} {
		file := filepath.Join(t.TempDir(), "product_serial")
		if err := os.WriteFile(file, []byte(serial), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := device.NodeID(file); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v, want %q", serial, got, err, want)
		}
	}
	if _, err := device.NodeID(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Error(err)
	}
}
