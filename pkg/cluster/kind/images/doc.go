// Package images lists the images of a container runtime, and moves them to hosts without a registry: packed into one
// file, and loaded from it.
//
//	store := images.Store{Runtime: runtime.New("docker")}
//	image, err := store.Image(ctx, "vsphere-sandbox/kind-node:82a9a7dd8110")
//
//	w := images.NewWriter(file, "v0.1.0")
//	err = w.AddFrom(ctx, store, images.Item{Name: image.Name, Part: "node"})
//	err = w.Close()
//
//	archive, err := images.Open(ctx, path, nil)  // reads all of it: damage is found before anything is loaded
//	loaded, err := archive.Load(ctx, store, nil)
//
// An archive is a tar that `docker load` accepts too: manifest.json names the images. A second file of ours has the
// digest of every file, so that a damaged, truncated or foreign archive is rejected. Layers are streamed; only
// descriptions are in memory.
//
// This package does not know what an image is for; package nodeimage does for kind's nodes.
//
// Floor 2. Of this module it imports package runtime.
package images
