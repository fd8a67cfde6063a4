// Package program finds a program that a user brings: a cloud controller manager, a CSI driver or its syncer. It is the one that is
// built in, a file, one in an image of a registry or of an archive, or a release of upstream's that is built from its Go module.
//
//	source, err := program.CCM.Parse("image:registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v1.36.0")
//	p, err := source.Resolve(ctx, program.Options{Progress: report})
//
// It does not run what it finds, needs no Docker, and unpacks only the one file of an image that is the program. What it
// fetches or builds is kept in the user's cache folder and checked again before it is used.
//
// Floor 0: of this module it imports packages upstream and private. No other package imports go-containerregistry.
package program
