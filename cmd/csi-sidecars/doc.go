// Command csi-sidecars is the stock sidecars of a CSI driver in one program: csi-provisioner, csi-attacher, csi-resizer,
// csi-snapshotter and the snapshot-controller, of the releases that go.mod names.
//
//	csi-sidecars csi-provisioner --csi-address=/run/csi/socket --kubeconfig=admin.conf
//
// The first argument chooses, or the name under which the program is called. One process is one sidecar: what they register
// process-wide (feature gates, metrics) is theirs alone, and one that falls does not take the others along. It is a program
// apart from vsphere-sandbox because their feature gates and those of k8s.io/kubernetes cannot be in one process.
//
// The controllers are upstream's packages, unchanged. What is here is what their main packages do: flags, of the same names
// and with the same defaults, the connection to the driver, leader election by Leases of the same names, metrics. Left out is
// what a driver with a controller of its own has no use for: capacity, deployment on nodes, group snapshots, modification of
// volumes. In three things it differs: the loss of the driver is noticed when it happens and not at the next call, SIGTERM
// lets the work in hand be finished, and a Lease is given back at the end.
package main
