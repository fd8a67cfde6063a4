package fleet

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// What a control plane on two cores takes in renewed leases, per second, beside all else. Each costs it about a millisecond.
const leasesPerSecond = 250

// LeaseDuration is the duration of Leases for so many nodes: a kubelet's, or up to twice that where renewing all of them at
// a quarter of it would be more than a small control plane takes. Twice is the most: it has to be renewed a second time
// within the grace period of the node monitor, or one renewal that comes late would cost a node its readiness.
func LeaseDuration(nodes int, speed pace.Speed) time.Duration {
	usual := speed.Of(pace.NodeLease)
	enough := 4 * time.Duration(nodes) * time.Second / leasesPerSecond
	return max(usual, min(enough.Round(time.Second), 2*usual))
}
