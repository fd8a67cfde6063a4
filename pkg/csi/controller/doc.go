// Package controller is CSI's Controller service: it turns calls of the Kubernetes sidecars into volumes of vCenters.
//
//	c := controller.New(controller.Config{Store: store, Nodes: nodes, Logger: log})
//	csi.RegisterControllerServer(server, c)
//
// What talks to vCenters is behind the two interfaces of package volume. Here are CSI's rules: what a request must say,
// idempotency, the order in which places are tried, paging, and the gRPC code of every outcome, which decides what the
// sidecars do next. Upstream answers Internal to nearly everything (pkg/csi/service/vanilla/controller.go); here Internal
// is what nothing is known of, and every message says which volume, node, VM and vCenter it is about and what helps.
//
// It supports block volumes, with a file system or raw, on one node at a time. File volumes (ReadWriteMany), clones of
// volumes and modification of volumes are refused in words, not advertised.
//
// It keeps no state of volumes: a restart forgets nothing. One call never waits for another; of two identical ones at a
// time the second is told to come again (Aborted).
//
// Floor 1.
package controller
