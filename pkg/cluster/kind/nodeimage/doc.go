// Package nodeimage chooses the image for the nodes of a kind cluster: the official kindest/node, or where no registry is
// reachable the one that hack/kind-node builds from Debian packages and Go modules.
//
//	finder := nodeimage.Finder{Store: images.Store{Runtime: rt}, Kubernetes: "v1.36.4"}
//	image, err := finder.Find(ctx)          // on return the runtime has it
//	image, err = finder.Check(ctx, asked)   // or the one that the user named
//	all, err := finder.List(ctx)            // all candidates, in order of preference
//
// Images on this host come first: the official image, ours, ours from the archive that hack/kind-node keeps in the user's
// cache folder. The official image's registry is last, since an unreachable registry takes long to fail. An image must
// have the Kubernetes minor release that the sandbox was built for, since kind's configuration and the workloads depend
// on it.
//
// Floor 2. Of this module it imports packages images and runtime.
package nodeimage
