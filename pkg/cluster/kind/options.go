package kind

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Options configure a cluster. Name, Dir, Speed and Image are required.
type Options struct {
	// Name is the sandbox's name. The kind cluster and the admin's context are called vsphere-sandbox-<Name>.
	Name string
	// Dir is an existing directory, for its owner only, kept for the life of the cluster. The nodes mount files from it,
	// so it must be on the host of the runtime's daemon.
	Dir string
	// Nodes are the VMs that are nodes. Without any the cluster only has a control plane that is no VM.
	Nodes []Node
	// Image is the node image, by a name that the runtime knows or can pull.
	Image string
	// Volumes is a directory on this host that every VM node mounts at the same path, for volumes that are directories. It is
	// created. Optional.
	Volumes string
	// UserConfig is a kind configuration to merge; see the package's comment. UserFile is its name in errors.
	UserConfig []byte
	UserFile   string
	Speed      pace.Speed
	// Retain keeps a cluster whose creation failed, with its logs in Dir.
	Retain bool
	// Port is the API server's on this host; 0 for a free one.
	Port int
	// Firmware shows pods that mount a node's /sys/devices the VM's serial number at /sys/class/dmi/id, also on hosts
	// without DMI: upstream's CSI node service reads it.
	Firmware bool
	// Mirrors allows [Cluster.Mirror] to configure registry mirrors of the nodes.
	Mirrors bool
	// Kubernetes is the release that the image's minor version must match; default is that of this program.
	Kubernetes string
	// Host is the containers' host, see [runtime.Runtime.Capacity]. If zero, Create determines it.
	Host runtime.Capacity
	// Runtime is used instead of the one that [Detect] finds.
	Runtime *runtime.Runtime
	// Progress is called with each line of progress, by one goroutine at a time, at least every five seconds.
	Progress func(string)
}

// Node is a VM that is a node.
type Node struct {
	// Name is the guest's hostname and the node's name in Kubernetes: lower case.
	Name string
	// UUID is the VM's BIOS UUID, which the node shows as its system UUID. Serial is its serial number; the default is
	// the one that vSphere derives from the UUID ([Serial]).
	UUID, Serial string
	ControlPlane bool
	// Address is the node's address, which its container gets in addition. Zero: the container's own address.
	Address netip.Addr
	// CPUs and MemoryBytes are the VM's. What the host has more is reserved on the node, so that pods get what the VM
	// has; less cannot be compensated. 0 means as much as the host has. The node with the API server has no limit: a VM
	// that is too small for one would break the cluster.
	CPUs        int
	MemoryBytes uint64
	// ByID is a directory on this host that is mounted at the node's /dev/disk/by-id; default is one in Options.Dir
	// ([Cluster.ByID]).
	ByID string
}

// maxName is the longest sandbox name: the control plane's container needs a host name of at most 63 characters.
const maxName = 63 - len(prefix) - len("-control-plane")

func (o Options) check() error {
	var errs []error
	wrongly := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	label := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	subdomain := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	if !label.MatchString(o.Name) {
		wrongly("sandbox name %q: want lower-case letters, digits and dashes, a letter or digit first and last", o.Name)
	} else if len(o.Name) > maxName {
		wrongly("sandbox name %q: has %d characters; on kind the limit is %d, since containers are named after it", o.Name, len(o.Name), maxName)
	}
	if !filepath.IsAbs(o.Dir) {
		wrongly("directory %q: has to be an absolute path", o.Dir)
	} else if strings.ContainsAny(o.Dir, ":,") {
		wrongly("directory %q: a container runtime mounts no path with a colon or a comma: set another state directory", o.Dir)
	}
	if o.Volumes != "" && (!filepath.IsAbs(o.Volumes) || strings.ContainsAny(o.Volumes, ":,")) {
		wrongly("directory %q: has to be an absolute path without a colon or a comma", o.Volumes)
	}
	if o.Image == "" {
		wrongly("no node image is given")
	}
	if o.Port < 0 || o.Port > 65535 {
		wrongly("port %d: want one from 1 to 65535, or 0 for a free one", o.Port)
	}
	if err := o.Speed.Validate(); err != nil {
		wrongly("%w", err)
	}
	seen := map[string]bool{}
	for _, n := range o.Nodes {
		if len(n.Name) > 253 || !subdomain.MatchString(n.Name) {
			wrongly("node %q: a node's name has to be a host name in lower case", n.Name)
		}
		if _, err := Serial(n.UUID); err != nil {
			wrongly("node %q: %w", n.Name, err)
		}
		if strings.ContainsAny(n.Serial, "\r\n") {
			wrongly("node %q: serial number %q: has to be one line", n.Name, n.Serial)
		}
		if n.ByID != "" && (!filepath.IsAbs(n.ByID) || strings.ContainsAny(n.ByID, ":,")) {
			wrongly("node %q: directory %q: has to be an absolute path without a colon or a comma", n.Name, n.ByID)
		}
		if seen[n.Name] {
			wrongly("node %q: is given twice; node names are unique in Kubernetes", n.Name)
		}
		seen[n.Name] = true // duplicate UUIDs are allowed: they are worth testing
	}
	return errors.Join(errs...)
}

func (o Options) kubernetes() string {
	if o.Kubernetes != "" {
		return o.Kubernetes
	}
	return release.Kind()
}
