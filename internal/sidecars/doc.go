// Package sidecars finds the program csi-sidecars, the stock sidecars of the CSI driver, which cannot be in the same binary
// as Kubernetes itself (cmd/csi-sidecars says why).
//
// A release carries it, compressed: built with the tag release, this package embeds what hack/carry has put beside it. Package
// carried has the rest.
//
//	program, err := sidecars.Find(ctx)
//
// It does not run what it finds. Floor 0.
package sidecars
