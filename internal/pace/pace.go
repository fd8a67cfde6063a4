package pace

import (
	"fmt"
	"time"
)

// Default is the speed of a sandbox for which none was asked.
const Default Speed = 10

// Max is the highest speed: beyond it the floors of the periods hold, and nothing gets faster.
const Max Speed = 100

// Speed is how many times faster than upstream's defaults a cluster lives. The zero value is not valid.
type Speed float64

// Validate returns an error if s is no usable speed.
func (s Speed) Validate() error {
	if !(s >= 1 && s <= Max) { // also refuses NaN
		return fmt.Errorf("speed %v: want a number from 1 (upstream's defaults) to %v", float64(s), float64(Max))
	}
	return nil
}

// Of returns the scaled p: upstream's default divided by the speed, rounded to p's unit, and not less than p's floor.
func (s Speed) Of(p Period) time.Duration {
	r := p.row()
	return max(time.Duration(float64(r.Upstream)/float64(s)).Round(r.unit), r.Floor)
}

// Lease returns how long a Lease of replicas is valid, how long the leader tries to renew it, and the pause between two tries: in the
// proportions of upstream's defaults.
func (s Speed) Lease() (duration, renew, retry time.Duration) {
	lease := s.Of(CCMLease)
	return lease, (lease * 2 / 3).Round(time.Millisecond), (lease * 2 / 15).Round(time.Millisecond)
}

// CCMArgs returns the arguments with the periods that every cloud controller manager has.
func (s Speed) CCMArgs() []string {
	return []string{
		"--node-monitor-period=" + s.Of(CCMNodeMonitor).String(),
		"--node-status-update-frequency=" + s.Of(CCMNodeStatusUpdate).String(),
		"--route-reconciliation-period=" + s.Of(CCMRoutes).String(),
	}
}

// EvictionRate is kube-controller-manager's --node-eviction-rate, in nodes per second: upstream's 0.1 scaled up, and never 1.
// While all nodes are not ready, as when a cluster boots, the node lifecycle controller swaps its limiter for one that lets
// nothing pass, which says of itself that its rate is 1 (client-go/util/flowcontrol, fakeNeverRateLimiter); and the one to come
// after it is not put there if its rate is the same (nodelifecycle/scheduler, SwapLimiter). At a rate of 1 no node of a cluster
// without zones would ever be evicted from.
func (s Speed) EvictionRate() float64 {
	const upstream, stuck, next = 0.1, 1, 1.001
	if rate := upstream * float64(s); float32(rate) != stuck {
		return rate
	}
	return next
}

// Period names one of the periods that speed scales.
type Period int

// The periods, by the component that keeps them.
const (
	NodeMonitorPeriod Period = iota
	NodeMonitorGracePeriod
	NodeStartupGracePeriod
	AttachDetachSync
	AttachDetachMaxWaitForUnmount
	AttachDetachPopulator
	PVClaimBinderSync
	NotReadyToleration
	UnreachableToleration
	NodeLease
	NodeStatusUpdate
	NodeStatusReport
	KubeletSync
	CCMNodeMonitor
	CCMNodeStatusUpdate
	CCMRoutes
	GuestBoot
	TagRefresh
	CCMLease
	CSIReconcile
	CSIRetryStart
	CSIRetryMax
	CSIFullSync
	CSIVolumeHealth
	numPeriods
)

// Row says of one period what it is, where it is set and how it is scaled.
type Row struct {
	Period    Period
	Component string
	// Setting is the flag, configuration field or variable that carries it.
	Setting  string
	Upstream time.Duration
	// Floor is what it never falls below, because the component takes no less or because a busy laptop could not keep up.
	Floor time.Duration

	unit time.Duration
}

// Table lists every period, in the order of the constants.
func Table() []Row {
	rows := make([]Row, numPeriods)
	for p := range numPeriods {
		rows[p] = p.row()
	}
	return rows
}

const ms = time.Millisecond

func (p Period) row() Row {
	const (
		kcm     = "kube-controller-manager"
		api     = "kube-apiserver"
		kubelet = "kubelet"
		ccm     = "cloud-controller-manager"
		sidecar = "CSI sidecars"
	)
	switch p {
	case NodeMonitorPeriod:
		return Row{p, kcm, "--node-monitor-period", 5 * time.Second, 200 * ms, ms}
	case NodeMonitorGracePeriod:
		// Its floor leaves room for a lease of a second that is renewed late on a busy machine.
		return Row{p, kcm, "--node-monitor-grace-period", 50 * time.Second, 3 * time.Second, ms}
	case NodeStartupGracePeriod:
		return Row{p, kcm, "--node-startup-grace-period", time.Minute, 3 * time.Second, ms}
	case AttachDetachSync:
		return Row{p, kcm, "--attach-detach-reconcile-sync-period", time.Minute, time.Second, ms}
	case AttachDetachMaxWaitForUnmount:
		return Row{p, kcm, "attachdetach.DefaultTimerConfig.ReconcilerMaxWaitForUnmountDuration", 6 * time.Minute, 5 * time.Second, ms}
	case AttachDetachPopulator:
		return Row{p, kcm, "attachdetach.DefaultTimerConfig.DesiredStateOfWorldPopulatorLoopSleepPeriod", time.Minute, time.Second, ms}
	case PVClaimBinderSync:
		return Row{p, kcm, "--pvclaimbinder-sync-period", 15 * time.Second, time.Second, ms}
	case NotReadyToleration:
		return Row{p, api, "--default-not-ready-toleration-seconds", 5 * time.Minute, 3 * time.Second, time.Second}
	case UnreachableToleration:
		return Row{p, api, "--default-unreachable-toleration-seconds", 5 * time.Minute, 3 * time.Second, time.Second}
	case NodeLease:
		return Row{p, kubelet, "nodeLeaseDurationSeconds (renewed at a quarter of it)", 40 * time.Second, time.Second, time.Second}
	case NodeStatusUpdate:
		return Row{p, kubelet, "nodeStatusUpdateFrequency", 10 * time.Second, 500 * ms, ms}
	case NodeStatusReport:
		return Row{p, kubelet, "nodeStatusReportFrequency", 5 * time.Minute, 5 * time.Second, ms}
	case KubeletSync:
		return Row{p, kubelet, "syncFrequency", time.Minute, 2 * time.Second, ms}
	case CCMNodeMonitor:
		return Row{p, ccm, "--node-monitor-period", 5 * time.Second, 200 * ms, ms}
	case CCMNodeStatusUpdate:
		return Row{p, ccm, "--node-status-update-frequency", 5 * time.Minute, 5 * time.Second, ms}
	case CCMRoutes:
		return Row{p, ccm, "--route-reconciliation-period", 10 * time.Second, 500 * ms, ms}
	case GuestBoot:
		return Row{p, "simulated guest", "power-on to guest tools running", 20 * time.Second, 200 * ms, ms}
	case TagRefresh:
		return Row{p, ccm, "--tag-refresh-period (ours; upstream asks at each use)", time.Minute, time.Second, ms}
	case CCMLease:
		// Its floor leaves time to a leader on a busy machine, which has to renew it within two thirds.
		return Row{p, ccm, "--leader-elect-lease-duration (with several replicas)", 15 * time.Second, 5 * time.Second, ms}
	case CSIReconcile:
		return Row{p, sidecar, "csi-attacher --reconcile-sync", time.Minute, time.Second, ms}
	case CSIRetryStart:
		return Row{p, sidecar, "--retry-interval-start", time.Second, 200 * ms, ms}
	case CSIRetryMax:
		return Row{p, sidecar, "--retry-interval-max", 5 * time.Minute, 5 * time.Second, ms}
	case CSIFullSync:
		return Row{p, "CSI controller", "--full-sync-period", 30 * time.Minute, 10 * time.Second, ms}
	case CSIVolumeHealth:
		// Its floor keeps a driver with nothing to do to one call a minute.
		return Row{p, "CSI controller", "--volume-health-period", 5 * time.Minute, time.Minute, ms}
	}
	panic("pace: unknown period")
}
