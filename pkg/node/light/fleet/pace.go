package fleet

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// leasesPerSecond is what a control plane on two cores handles beside its other load. Each costs it about a millisecond.
const leasesPerSecond = 250

// LeaseDuration returns the duration of Leases for so many nodes: a kubelet's, or up to twice that if renewing all of
// them at a quarter of it would overload a small control plane. The limit is twice, since a second renewal must fit into
// the node monitor's grace period, or one late renewal would make a node not ready.
func LeaseDuration(nodes int, speed pace.Speed) time.Duration {
	usual := speed.Of(pace.NodeLease)
	enough := 4 * time.Duration(nodes) * time.Second / leasesPerSecond
	return max(usual, min(enough.Round(time.Second), 2*usual))
}
