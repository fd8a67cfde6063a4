package csi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/byid"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/device"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
)

// The back-ends.
const (
	backendDevice = "device"
	backendDir    = "dir"
	backendHollow = "hollow"
)

// nodeFlags are those of the node mode.
type nodeFlags struct {
	name, id, serialFile       string
	backend                    string
	byIDDir, stateDir, root    string
	registration, announced    string
	maxVolumes                 int64
	topology, bind             bool
	deviceTimeout, askTopology time.Duration
}

func (n *nodeFlags) add(fs *pflag.FlagSet, env map[string]string) {
	fs.StringVar(&n.name, "node-name", env["NODE_NAME"], "Name of the Node object; needed for topology.")
	fs.StringVar(&n.id, "node-id", "", "BIOS UUID of the VM; empty to read it from the file with the VM's serial number.")
	fs.StringVar(&n.serialFile, "serial-file", device.SerialFile, "File with the VM's serial number.")
	fs.StringVar(&n.backend, "backend", backendDevice, "What a volume is on this node: device (a block device), dir (a directory below --volumes-dir) or hollow (a directory that a link in --by-id-dir leads to).")
	fs.StringVar(&n.byIDDir, "by-id-dir", byid.Folder, "Directory with the links to disks.")
	fs.StringVar(&n.root, "volumes-dir", "", "Directory of volumes, with the dir backend.")
	fs.StringVar(&n.stateDir, "state-dir", "", "Directory in which the dir and hollow backends remember what is mounted where.")
	fs.BoolVar(&n.bind, "bind", false, "With the hollow backend, show volumes by bind mounts, as containers need it, instead of links; there are no raw block volumes then.")
	fs.StringVar(&n.registration, "registration-socket", "", "Socket on which to announce the driver to the kubelet, in its plugins_registry; empty when a node-driver-registrar does it.")
	fs.StringVar(&n.announced, "announced-endpoint", "", "Path at which the kubelet finds the CSI socket, where that is another than in --endpoint.")
	fs.Int64Var(&n.maxVolumes, "max-volumes", names.MaxVolumes, "How many volumes the node takes.")
	fs.BoolVar(&n.topology, "topology", true, "Ask the controller for the node's topology, with a CSINodeTopology object.")
	fs.DurationVar(&n.deviceTimeout, "device-timeout", 20*time.Second, "How long a disk that is attached, or its new size, is waited for.")
	fs.DurationVar(&n.askTopology, "topology-timeout", time.Minute, "How long the node's topology is waited for before the kubelet is told to ask again.")
}

func (n *nodeFlags) check() error {
	all := []string{backendDevice, backendDir, backendHollow}
	switch {
	case !slices.Contains(all, n.backend):
		return fmt.Errorf("--backend is %q: %s", n.backend, strings.Join(all, ", "))
	case n.topology && n.name == "":
		return errors.New("--node-name is missing, by which the node asks for its topology; --topology=false does without")
	case n.backend != backendDevice && n.stateDir == "":
		return fmt.Errorf("--state-dir is missing with --backend=%s", n.backend)
	case n.backend == backendDir && n.root == "":
		return errors.New("--volumes-dir is missing with --backend=dir")
	case n.bind && n.backend != backendHollow:
		return fmt.Errorf("--bind is for --backend=%s, not %s", backendHollow, n.backend)
	case n.bind && !folder.CanBind():
		return errors.New("--bind takes root on Linux")
	case n.backend == backendHollow && !n.bind && n.byIDDir == byid.Folder: // it is a node's own where links of its own lead to
		return errors.New("--by-id-dir is missing with --backend=hollow")
	case n.maxVolumes < 1 || n.maxVolumes > 255:
		return fmt.Errorf("--max-volumes is %d: a VM takes 1 to 255", n.maxVolumes)
	case n.deviceTimeout <= 0 || n.askTopology <= 0:
		return errors.New("--device-timeout and --topology-timeout have to be longer than nothing")
	}
	return nil
}
