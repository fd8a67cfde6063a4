package device

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
)

// SerialFile is the file in which Linux shows the serial number of a VM's firmware.
const SerialFile = "/sys/class/dmi/id/product_serial"

// NodeID reads the BIOS UUID of this VM from the file with its serial number ("VMware-56 4d 39 5e d8 07 e1 8a-cb 25 b7 9f 65 eb
// 2b 9f"), as upstream does: product_uuid has its first half in another byte order. The result is in lower case, as in vCenters,
// because Kubernetes compares node ids literally.
func NodeID(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	serial := strings.TrimSpace(string(b))
	hex, ok := strings.CutPrefix(serial, "VMware-")
	hex = strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(hex))
	if !ok || len(hex) != 32 || strings.Trim(hex, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%s: serial number %q is not that of a VMware VM", file, serial)
	}
	return strings.Join([]string{hex[:8], hex[8:12], hex[12:16], hex[16:20], hex[20:]}, "-"), nil
}

// Options configure the backend.
type Options struct {
	// ByIDDir is the directory of symlinks to disks; /dev/disk/by-id when empty.
	ByIDDir string
	// Timeout is how long to wait for a disk, or for its new size; byid.Timeout when zero.
	Timeout time.Duration
	Logger  *slog.Logger // discarded when nil
}
