package kind

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Serial returns the serial number that vSphere gives a VM with that BIOS UUID: its bytes in the order in which they are
// written, "VMware-42 01 00 00 00 00 40 00-80 00 00 00 00 00 00 11".
func Serial(uuid string) (string, error) {
	b, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil || len(b) != 16 || len(uuid) != 36 {
		return "", fmt.Errorf("UUID %q: want 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12", uuid)
	}
	return fmt.Sprintf("VMware-% x-% x", b[:8], b[8:]), nil
}
