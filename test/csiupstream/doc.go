// Package csiupstream runs a release of upstream's vSphere CSI driver (kubernetes-sigs/vsphere-csi-driver), controller
// and syncer, unmodified, against simulated vCenters and a real control plane: proof that Cloud Native Storage is
// simulated for clients that were not written for it.
//
// The tests need the release's programs in the folder $UPSTREAM_CSI and are skipped without it; "make csi-upstream"
// builds them from their module and runs the tests. -quiet sets how long they watch for retries at the end.
//
// Nodes are objects without kubelets: upstream's node service needs VMs with devices. The tests call the controller over
// its socket, and through the stock sidecars ($CSI_SIDECARS_BIN, or bin/csi-sidecars) with Kubernetes' objects. The
// driver listens on fixed ports (2112, 2113, 8383), so only one can run at a time on a host.
package csiupstream
