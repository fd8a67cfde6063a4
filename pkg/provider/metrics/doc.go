// Package metrics exports the cloud provider's Prometheus metrics: calls to vCenters, the state of connections and of the
// inventory, lookups, confirmations that a VM is gone, and reloads of the configuration.
//
//	m, err := metrics.New(metrics.Process(), func() []metrics.VCenter { … })
//	m.Call("us", "FindByUuid", "ok", 12*time.Millisecond)
//
// A Metrics registers its families in one registry: [Process] is that of the cloud controller manager's /metrics, and a
// test makes a private one. States are read at each scrape, so they are never outdated; counters are updated as things
// happen. Label values are bounded: vCenters by the configuration, methods by [MaxMethods], everything else by constants.
//
// The package makes no calls and serves no HTTP.
//
// Floor 1: it imports nothing of this module.
package metrics
