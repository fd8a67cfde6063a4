// Package registration announces a CSI driver to kubelet, which finds the socket in its plugins_registry folder, asks what is
// behind it, and tells whether it took it: what the node-driver-registrar sidecar is for elsewhere.
//
// Floor 1.
package registration
