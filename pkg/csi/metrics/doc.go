// Package metrics exports the CSI driver's Prometheus metrics: calls from sidecars and kubelet, operations on volumes, calls
// to vCenters, and the state of each vCenter.
//
//	m, err := metrics.New(providermetrics.Process(), func() []metrics.VCenter { … })
//	m.Call("ControllerPublishVolume", "OK", 240*time.Millisecond)
//
// The durations of calls have the names and labels that csi-lib-utils uses in sidecars, so that their dashboards work. Label
// values are bounded: vCenters by the configuration, methods by [metrics.MaxMethods] of the provider, everything else by
// constants.
//
// Floor 1: of this module it imports pkg/provider/metrics for the registry only.
package metrics
