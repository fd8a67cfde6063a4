// Command csi-sidecars contains the stock sidecars of a CSI driver in one program: csi-provisioner, csi-attacher, csi-resizer,
// csi-snapshotter and the snapshot-controller, in the releases of go.mod.
//
//	csi-sidecars csi-provisioner --csi-address=/run/csi/socket --kubeconfig=admin.conf
//
// The first argument, or the name of the program, selects the sidecar. One process is one sidecar, so that each has its own
// process-wide registries (feature gates, metrics), and a crash does not affect the others. It is a separate program from
// vsphere-sandbox, because their feature gates and those of k8s.io/kubernetes conflict in one process.
//
// The controllers are upstream's packages, unchanged. This package replaces their main packages: flags with the same names and
// defaults, the connection to the driver, leader election with the same Leases, metrics. It omits what a driver with a central
// controller does not need: capacity, deployment on nodes, group snapshots, modification of volumes. It differs in three ways: the
// loss of the driver is noticed at once and not at the next call, SIGTERM lets running work finish, and a Lease is released at the
// end.
package main
