package nodes

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// Cluster tells which VMs are nodes. All methods may be called concurrently, and answer from memory.
type Cluster interface {
	// Nodes returns all nodes, in any order; known is false while they may be only some of them.
	Nodes() (all []KubeNode, known bool)
	// Listen has f called after the nodes have changed, until the function returned has returned. f must not block.
	Listen(f func()) (stop func())
}

// KubeNode is what a node says of its VM.
type KubeNode struct {
	Name string
	// ProviderID is "vsphere://<uuid>" once a cloud provider has set it; SystemUUID is what the kubelet read, in either
	// byte order.
	ProviderID, SystemUUID string
}

// uuid returns the BIOS UUID of the node's VM: what the cloud provider says counts before what the kubelet does. Where the
// providerID is another provider's (that of k3s is), the node may still run on a VM.
func (n KubeNode) uuid() (match.UUID, bool) {
	if u, err := match.ParseProviderID(n.ProviderID); err == nil {
		return u, true
	}
	u, err := parseUUID(n.SystemUUID)
	return u, err == nil
}

// parseUUID takes the form with dashes and the one without.
func parseUUID(s string) (match.UUID, error) {
	s = strings.TrimSpace(s)
	if len(s) == 32 {
		s = s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
	}
	return match.ParseUUID(s)
}
