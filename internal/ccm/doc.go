// Package ccm finds the program of a cloud controller manager: the one that is built in, a file, an image of a registry or
// an archive, or a release of upstream's that is built from its Go module.
//
//	source, err := ccm.Parse("image:registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v1.36.0")
//	program, err := source.Resolve(ctx, ccm.Options{Progress: say})
//
// It does not run what it finds, needs no Docker, and unpacks of an image the one file that is the program. What it
// fetches or builds is kept in the user's cache folder and checked again before it is used.
//
// Floor 0: of this module it imports package upstream only. No other package imports go-containerregistry.
package ccm
