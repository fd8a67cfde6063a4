// Package registration registers a CSI driver with kubelet, which finds the socket in its plugins_registry directory, calls
// GetInfo, and reports the result. It replaces the node-driver-registrar sidecar.
//
// Floor 1.
package registration
