// Package csiupstream runs a release of upstream's vSphere CSI driver (kubernetes-sigs/vsphere-csi-driver), controller and
// syncer, unmodified, against simulated vCenters and a real control plane: proof that Cloud Native Storage is simulated
// for clients that were not written for it.
//
// The tests need the release's programs in the folder $UPSTREAM_CSI and are skipped without it; "make csi-upstream" builds
// them from their module and runs the tests. How long they look for retries at the end is said by -quiet.
//
// Nodes are objects without kubelets: upstream's node service is for VMs and their devices. The controller is spoken to
// over its socket, and by the stock sidecars ($CSI_SIDECARS_BIN, or bin/csi-sidecars) on behalf of Kubernetes' objects.
// The driver listens on ports of its own (2112, 2113, 8383), so that there can be one at a time on a machine.
package csiupstream
