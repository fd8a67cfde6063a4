// Command image makes the container images of this project's programs with Go tooling alone: no Docker, no base image, no
// network beyond the module proxy.
//
//	go -C hack/image run . -root ../.. -out dist/image
//
// For each program it cross-compiles one static binary per platform and writes an OCI image layout, a folder that crane,
// skopeo, podman and nerdctl push and load; or, with -format docker-archive, a file per platform that `docker load`,
// `kind load image-archive` and `ctr images import` take. The image holds the program, certificate authorities, a user
// without rights, and nothing that could be run besides. In /licenses are the terms of everything that is linked into the
// program, read from the modules as they were compiled: /licenses/<module>/LICENSE and the like, and /licenses/go. With
// -format licenses it writes those alone, which is how they get into the archives of a release.
//
// The same commit and the same Go release make the same digest, on every machine: nothing in an image is younger than
// SOURCE_DATE_EPOCH, which is the commit's time unless it is set, and no path of the machine is in it.
//
// It is a module of its own, so that what writes images is not linked into what runs in them.
package main
