// Package store is [volume.Store]: Cloud Native Storage (CNS) of several vCenters as one. It speaks CNS over the sessions
// of [vcenter.Client], waits for tasks with one list view and one long poll per vCenter, and turns CNS's faults into the
// errors of package volume.
//
// An operation that has begun goes on when its caller goes away. Whoever asks for the same thing again joins it; whoever
// asks for something else of the same volume waits for it. What it came to is found out at the vCenter. What
// is remembered saves calls, or keeps something from being made twice ([Store.Create]); a driver that was killed lacks
// nothing else.
//
//	s := store.New(store.Options{Clients: clients, Cluster: store.Cluster{ID: id}})
//	defer s.Close()
//	uuid, err := s.Attach(ctx, volumeID, node)
//
// It knows nothing of gRPC, of Kubernetes objects, or of where a volume ought to lie.
//
// Floor 1: of this module it imports package csi's vocabulary and provider/vcenter.
package store
