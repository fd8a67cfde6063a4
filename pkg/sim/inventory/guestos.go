package inventory

// fullName is the operating system that a guest id stands for, as vCenter writes it, for those that Kubernetes nodes
// run; any other id stands for itself.
func fullName(id string) string {
	switch id {
	case "ubuntu64Guest":
		return "Ubuntu Linux (64-bit)"
	case "debian12_64Guest":
		return "Debian GNU/Linux 12 (64-bit)"
	case "debian11_64Guest":
		return "Debian GNU/Linux 11 (64-bit)"
	case "rhel9_64Guest":
		return "Red Hat Enterprise Linux 9 (64-bit)"
	case "rhel8_64Guest":
		return "Red Hat Enterprise Linux 8 (64-bit)"
	case "rockylinux_64Guest":
		return "Rocky Linux (64-bit)"
	case "vmwarePhoton64Guest":
		return "VMware Photon OS (64-bit)"
	case "other5xLinux64Guest":
		return "Other 5.x or later Linux (64-bit)"
	case "otherLinux64Guest":
		return "Other Linux (64-bit)"
	case "windows2022srvNext_64Guest":
		return "Microsoft Windows Server 2025 (64-bit)"
	case "windows2019srvNext_64Guest":
		return "Microsoft Windows Server 2022 (64-bit)"
	case "windows2019srv_64Guest":
		return "Microsoft Windows Server 2019 (64-bit)"
	}
	return id
}
