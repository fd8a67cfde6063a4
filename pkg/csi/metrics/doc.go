// Package metrics counts what the CSI driver does, for Prometheus: calls of sidecars and kubelet, operations on volumes,
// calls to vCenters, and whether each vCenter is connected.
//
//	m, err := metrics.New(providermetrics.Process(), func() []metrics.VCenter { … })
//	m.Call("ControllerPublishVolume", "OK", 240*time.Millisecond)
//
// What calls took is named and labeled as csi-lib-utils does for sidecars, so that their dashboards fit. Label values are
// bounded: vCenters by the configuration, methods by [metrics.MaxMethods] of the provider, everything else by constants.
//
// Floor 1: of this module it imports pkg/provider/metrics for the registry only.
package metrics
