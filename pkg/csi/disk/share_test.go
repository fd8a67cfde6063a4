package disk_test

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
)

func TestShareDir(t *testing.T) {
	for export, want := range map[string]string{
		disk.ShareServer("us") + ":/vsanfs/1234": "/v/us/file:1234",
		disk.ShareServer("a b") + ":/vsanfs/1":   "/v/a%20b/file:1",
		"nas.example:/vsanfs/1234":               "",
		disk.ShareServer("us"):                   "",
		disk.ShareServer("us") + ":/vsanfs/..":   "",
		disk.ShareServer("us") + ":":             "",
		disk.ShareServer("") + ":/vsanfs/1":      "",
	} {
		if got, ok := disk.ShareDir("/v", export); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", export, got, ok, want)
		}
	}
}
