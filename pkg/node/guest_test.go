package node_test

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

func TestOS(t *testing.T) {
	for guestID, want := range map[string]string{
		"ubuntu64Guest":        "Ubuntu ",
		"debian12_64Guest":     "Debian ",
		"vmwarePhoton64Guest":  "VMware Photon ",
		"rhel9_64Guest":        "Red Hat Enterprise Linux 9",
		"rhel8_64Guest":        "Red Hat Enterprise Linux 8",
		"centos9_64Guest":      "CentOS ",
		"rockylinux_64Guest":   "Rocky ",
		"sles15_64Guest":       "SUSE ",
		"coreos64Guest":        "Flatcar ",
		"windows2019srv_64":    "Linux",
		"otherLinux64Guest":    "Linux",
		"":                     "Linux",
		"not-ubuntu-as-prefix": "Linux",
	} {
		image, kernel := node.OS(guestID)
		if !strings.HasPrefix(image, want) || want == "Linux" && image != want {
			t.Errorf("%q is %q, want %s…", guestID, image, want)
		}
		if kernel == "" || kernel[0] < '1' || kernel[0] > '9' {
			t.Errorf("%q: kernel %q", guestID, kernel)
		}
	}
}
