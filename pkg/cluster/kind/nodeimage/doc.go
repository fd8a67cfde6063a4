// Package nodeimage says which image the nodes of a kind cluster are made from: the official kindest/node, or where no
// registry is reachable the one that hack/kind-node makes of Debian packages and Go modules.
//
//	finder := nodeimage.Finder{Store: images.Store{Runtime: rt}, Kubernetes: "v1.36.4"}
//	image, err := finder.Find(ctx)          // the runtime has it then
//	image, err = finder.Check(ctx, asked)   // or the one that somebody has asked for
//	all, err := finder.List(ctx)            // what there is, in the order of preference
//
// What is on this machine comes first: the official image, ours, ours from the archive that hack/kind-node keeps in the
// user's cache folder. Only then is the official one asked for at its registry, since a machine that reaches none takes its
// time to say so. Every image is known by the Kubernetes release in it; one of another minor release is refused, as what
// kind is told about nodes, and what runs on them, is for that one.
//
// Floor 2. Of this module it imports packages images and runtime.
package nodeimage
