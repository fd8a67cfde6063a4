// Package light is the program that stands for the kubelets of many machines at once: it registers a Node for each machine of
// a feed (package feed), with the identity of its VM and the taint of an external cloud provider, renews its Lease and its
// status as long as the machine is heard of and not a moment longer, and has the pods that are bound to it run and end.
//
//	err := light.Run(ctx, light.Config{
//		Feed:   feed.Where{URL: "unix:/run/sandbox.sock"},
//		Client: client, // with the rights of fleet.Rights
//		Speed:  1,
//	})
//
// Pods are played by kwok's pod controller, with stages of our own. Its node and lease controllers are not used: a Node that
// kwok plays goes on when its machine does not, and a lease that is let go of and taken up again while it is being renewed
// stops its queue for all. What light nodes do not do: containers, volumes (they have no CSINode), Events.
//
// Floor 2; it alone imports kwok.
package light
