package disks

import (
	"fmt"
	"path"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// byID is where a guest looks for disks.
const byID = "/dev/disk/by-id"

// devices is how many loop devices a guest has files for: for each disk that it may have, for one that a kubelet makes of it
// when it is used raw, and for those of other guests, since all are numbered together.
const devices = 256

// Prepare is a script that gives a guest files of loop devices: a container has those only that there were when it was started,
// and what is mounted is made larger by that name.
func (*Loops) Prepare() string {
	return fmt.Sprintf(`cd /dev && n=0 && while [ $n -lt %d ]; do [ -e loop$n ] || mknod -m 660 loop$n b 7 $n || exit 1; n=$((n+1)); done`, devices)
}

// Check is a command that succeeds in a guest that sees the disk.
func (*Loops) Check(d node.Disk) []string {
	return []string{"blockdev", "--getsize64", path.Join(byID, names.DeviceLink(d.UUID))}
}

// Prepare is empty: there is nothing to prepare.
func (*Links) Prepare() string { return "" }

// Check is a command that succeeds in a guest that sees the disk.
func (*Links) Check(d node.Disk) []string {
	return []string{"test", "-f", path.Join(byID, names.DeviceLink(d.UUID), "disk.json")}
}
