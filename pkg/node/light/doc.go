// Package light replaces the kubelets of many VMs with one program: it registers a Node for each machine of a feed
// (package feed), with the identity of its VM and the taint of an external cloud provider, renews its Lease and its
// status exactly as long as the feed reports the machine as running, and simulates the pods that are bound to it.
//
//	err := light.Run(ctx, light.Config{
//		Feed:   feed.Endpoint{URL: "unix:/run/sandbox.sock"},
//		Client: client, // with the rights of fleet.Rights
//		Speed:  1,
//	})
//
// kwok's pod controller simulates the pods, with our stages. Its node and lease controllers are not used: they keep a
// Node alive when its machine is not, and releasing and acquiring a lease during its renewal blocks their queue for all
// nodes. Light nodes have no containers, no volumes (no CSINode) and no Events.
//
// Floor 2; it alone imports kwok.
package light
