// Package metrics counts what the cloud provider does, for Prometheus: calls to vCenters, the state of connections and
// of the inventory, lookups, confirmations that a VM is gone, reloads of the configuration.
//
//	m, err := metrics.New(metrics.Process(), func() []metrics.VCenter { … })
//	m.Call("us", "FindByUuid", "ok", 12*time.Millisecond)
//
// A Metrics registers its families at one registry: [Process] is that of the cloud controller manager's own /metrics, a
// test makes a private one. What states something is asked for at each scrape, so it is never out of date; what counts
// something is told as it happens. Label values are bounded: vCenters by the configuration, methods by [MaxMethods],
// everything else by constants.
//
// It knows nothing of vCenters or nodes, and serves nothing: that is up to the registry's owner.
//
// Floor 1: it imports nothing of this module.
package metrics
