package kind

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Options say what cluster to make. Name, Dir, Speed and Image are needed.
type Options struct {
	// Name is the sandbox's. kind's cluster is called vsphere-sandbox-<Name>, and so is the admin's context.
	Name string
	// Dir is an existing directory for its owner only, kept for the life of the cluster. What is mounted in the nodes is in
	// it, so the runtime's daemon has to see it: it has to be on this machine.
	Dir string
	// Nodes are the VMs that are nodes. Without any the cluster is a control plane that is no VM.
	Nodes []Node
	// Image is the node image, by a name that the runtime knows or can pull.
	Image string
	// Volumes is a directory on this machine that every node which is a VM sees at the same path, where volumes are
	// directories; it is made. "": none.
	Volumes string
	// UserConfig is a kind configuration to be merged; see the package's comment. UserFile is what errors call it.
	UserConfig []byte
	UserFile   string
	Speed      pace.Speed
	// Retain leaves what there is of a cluster that could not be made, with its logs in Dir.
	Retain bool
	// Port is the API server's on this machine; 0 takes a free one.
	Port int
	// Firmware has pods that mount a node's /sys/devices find the VM's serial number where a VM's firmware has it, in
	// /sys/class/dmi/id, on machines that have no such place, too: upstream's CSI node service reads it.
	Firmware bool
	// Mirrors allows [Cluster.Mirror] to configure registry mirrors of the nodes.
	Mirrors bool
	// Kubernetes is the release whose minor version the image has to have; "" is that of this program.
	Kubernetes string
	// Host is what the machine of the containers has, by [runtime.Runtime.Capacity]. The zero value is asked for by Create.
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
	// UUID is the VM's BIOS UUID, which the node shows as its system UUID. Serial is its serial number; "" is the one that
	// vSphere makes of the UUID ([Serial]).
	UUID, Serial string
	ControlPlane bool
	// Address is the node's address, which its container gets in addition. Zero: the container's own address.
	Address netip.Addr
	// CPUs and MemoryBytes are the VM's. What the machine of the containers has more is reserved on the node, so that pods
	// find what the VM has; what it has less cannot be made up. 0 is as much as the machine has. The node with the API
	// server is left as it is: a VM that is too small for one would take the cluster down.
	CPUs        int
	MemoryBytes uint64
	// ByID is a directory on this machine that is the node's /dev/disk/by-id; "" is one in Options.Dir ([Cluster.ByID]).
	ByID string
}

// maxName is as long as a sandbox's name may be: the control plane's container has to be a host name of 63 characters.
const maxName = 63 - len(prefix) - len("-control-plane")

func (o Options) check() error {
	var errs []error
	wrongly := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	label := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	subdomain := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	if !label.MatchString(o.Name) {
		wrongly("sandbox name %q: want lower-case letters, digits and dashes, a letter or digit first and last", o.Name)
	} else if len(o.Name) > maxName {
		wrongly("sandbox name %q: has %d characters; on kind it may have %d, since containers are called after it", o.Name, len(o.Name), maxName)
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
		wrongly("no node image is named")
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
			wrongly("node %q: is there twice; Kubernetes has one node of a name", n.Name)
		}
		seen[n.Name] = true // two may have one UUID: what comes of that is worth a look
	}
	return errors.Join(errs...)
}

func (o Options) kubernetes() string {
	if o.Kubernetes != "" {
		return o.Kubernetes
	}
	return build.Kubernetes()
}
