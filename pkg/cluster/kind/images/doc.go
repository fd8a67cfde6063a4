// Package images is the images that a container runtime has, and how they are carried to a place that reaches no registry:
// packed into one file, and loaded from it.
//
//	store := images.Store{Runtime: runtime.New("docker")}
//	image, err := store.Image(ctx, "vsphere-sandbox/kind-node:82a9a7dd8110")
//
//	w := images.NewWriter(file, "v0.1.0")
//	err = w.AddFrom(ctx, store, images.Item{Name: image.Name, Part: "node"})
//	err = w.Close()
//
//	archive, err := images.Open(ctx, path, nil)  // reads it all: what is damaged is found before anything is loaded
//	loaded, err := archive.Load(ctx, store, nil)
//
// An archive is a tar that `docker load` takes as well: its manifest.json names the images, and beside it lies one of ours
// with the digest of every file, so that an archive that is damaged, cut short or somebody else's is refused. Layers are
// streamed; only descriptions are in memory.
//
// What an image is for is not known here: package nodeimage knows it of kind's nodes.
//
// Floor 2. Of this module it imports package runtime.
package images
