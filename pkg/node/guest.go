package node

import "strings"

// OS is what a guest says of itself in the node's info: an OS image and a kernel for the guest ID with which the VM is
// configured. A guest that Kubernetes does not run on is reported as a generic Linux.
func OS(guestID string) (image, kernel string) {
	for _, os := range []struct{ prefix, image, kernel string }{
		{"ubuntu", "Ubuntu 24.04.3 LTS", "6.8.0-87-generic"},
		{"debian", "Debian GNU/Linux 12 (bookworm)", "6.1.0-41-amd64"},
		{"vmwarePhoton", "VMware Photon OS/Linux", "6.1.158-1.ph5"},
		{"rhel9", "Red Hat Enterprise Linux 9.6 (Plow)", "5.14.0-570.12.1.el9_6.x86_64"},
		{"rhel", "Red Hat Enterprise Linux 8.10 (Ootpa)", "4.18.0-553.el8_10.x86_64"},
		{"centos", "CentOS Stream 9", "5.14.0-598.el9.x86_64"},
		{"rockylinux", "Rocky Linux 9.6 (Blue Onyx)", "5.14.0-570.12.1.el9_6.x86_64"},
		{"sles", "SUSE Linux Enterprise Server 15 SP7", "6.4.0-150700.53.19-default"},
		{"coreos", "Flatcar Container Linux by Kinvolk 4230.2.3 (Oklo)", "6.6.107-flatcar"},
	} {
		if strings.HasPrefix(guestID, os.prefix) {
			return os.image, os.kernel
		}
	}
	return "Linux", "6.12.0"
}
