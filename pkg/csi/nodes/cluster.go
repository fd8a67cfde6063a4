package nodes

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// Cluster lists the nodes. All methods are safe for concurrent use, and answer from memory.
type Cluster interface {
	// Nodes returns all nodes, in any order; known is false while the list may be incomplete.
	Nodes() (all []KubeNode, known bool)
	// Listen calls f after the nodes have changed, until stop has returned. f must not block.
	Listen(f func()) (stop func())
}

// KubeNode is what identifies the VM of a node.
type KubeNode struct {
	Name string
	// ProviderID is "vsphere://<uuid>" after a cloud provider has set it; SystemUUID is the kubelet's, in either byte order.
	ProviderID, SystemUUID string
}

// uuid returns the BIOS UUID of the node's VM. The providerID has priority over the system UUID. If it is another provider's
// (such as that of k3s), the node may still run on a VM.
func (n KubeNode) uuid() (match.UUID, bool) {
	if u, err := match.ParseProviderID(n.ProviderID); err == nil {
		return u, true
	}
	u, err := parseUUID(n.SystemUUID)
	return u, err == nil
}

// parseUUID accepts a UUID with or without dashes.
func parseUUID(s string) (match.UUID, error) {
	s = strings.TrimSpace(s)
	if len(s) == 32 {
		s = s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
	}
	return match.ParseUUID(s)
}
