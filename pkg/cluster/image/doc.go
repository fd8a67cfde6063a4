// Package image makes container images of programs that are files of this machine, with no container runtime and no
// registry: one archive that docker, podman, nerdctl, kind and ctr load.
//
//	set, err := image.Sandbox(ctx, self, sidecars) // what the pods of a sandbox run
//	f, err := os.Create("images.tar")
//	err = set.Write(ctx, f)                        // docker load --input images.tar
//	ccm := set.Name(image.CCM)                     // localhost/vsphere-cloud-controller-manager:4f1c0a6b2d3e
//
// An archive is an OCI layout and Docker's own format at once: the same blobs, described twice. The same programs make the
// same bytes, and the tag is a hash of the content, so that what was loaded once is known by its name and not loaded again.
// Layers are not compressed: the archive goes to a daemon of this machine, and compressing would take longer than all of
// the rest. A program is read twice, once for its hash and once for the archive, and is never in memory as a whole.
//
// Images have nothing but the programs and the names of two users: no shell, no certificate authorities of the web. Who
// runs them trusts the authorities of the vCenters' certificates by configuration.
//
// Floor 2: it imports nothing of this module.
package image
