// Package store implements [volume.Store]: it combines the Cloud Native Storage (CNS) of several vCenters. It calls CNS over
// the sessions of [vcenter.Client], waits for tasks with one list view and one long poll per vCenter, and converts CNS's faults
// to the errors of package volume.
//
// An operation continues when its caller's context ends. An identical call joins it; a different call for the same volume waits
// for it. The outcome is read from the vCenter. The cached state only saves calls, or prevents a second creation
// ([Store.Create]); a restart loses nothing else.
//
//	s := store.New(store.Options{Clients: clients, Cluster: store.Cluster{ID: id}})
//	defer s.Close()
//	uuid, err := s.Attach(ctx, volumeID, node)
//
// The package does not depend on gRPC or Kubernetes objects, and does not choose datastores.
//
// Floor 1: of this module it imports package csi's vocabulary and provider/vcenter.
package store
