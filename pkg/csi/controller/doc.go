// Package controller implements the CSI Controller service for volumes in vCenters.
//
//	c := controller.New(controller.Config{Store: store, Nodes: nodes, Logger: log})
//	csi.RegisterControllerServer(server, c)
//
// The two interfaces of package volume access the vCenters. This package implements the rules of CSI: validation of requests,
// idempotency, the order in which places are tried, paging, and the gRPC code of every outcome, which decides what the
// sidecars do next. Upstream returns Internal for nearly all errors (pkg/csi/service/vanilla/controller.go). Here Internal is
// for unknown errors only, and every message contains the volume, node, VM and vCenter, and what to do.
//
// It supports block volumes, with a file system or raw, on one node at a time. It refuses file volumes (ReadWriteMany), and
// cloning and modifying of volumes, with a message that gives the reason.
//
// It keeps no state of volumes, so a restart loses nothing. Calls do not wait for each other; the second of two identical
// concurrent calls gets Aborted.
//
// Floor 1.
package controller
