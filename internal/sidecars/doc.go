// Package sidecars finds the program csi-sidecars, the stock sidecars of the CSI driver, which cannot be in the same binary
// as Kubernetes itself (cmd/csi-sidecars says why).
//
// A release carries it, compressed, inside the one file that is downloaded: built with the tag release, this package embeds
// what hack/carry has put beside it, and unpacks it once into the user's cache folder. Without the tag it looks beside this
// program's own file, where `make build` leaves it.
//
//	program, err := sidecars.Find(ctx)
//
// It does not run what it finds. Floor 0: it imports nothing of this module.
package sidecars
