// Command image builds the container images of this project's programs with Go tooling alone: no Docker, no base image,
// no network beyond the module proxy.
//
//	go -C hack/image run . -root ../.. -out dist/image
//
// For each program it cross-compiles one static binary per platform and writes an OCI image layout, a folder that crane,
// skopeo, podman and nerdctl push and load. With -format docker-archive it writes a file per platform for `docker load`,
// `kind load image-archive` and `ctr images import`. An image has the program, certificate authorities, an unprivileged
// user, and nothing else that could run. /licenses has the licenses of all linked modules, read from the modules as
// compiled: /licenses/<module>/LICENSE and the like, and /licenses/go. With -format licenses it writes only those, for
// the archives of a release.
//
// Builds are reproducible: the same commit and Go release give the same digest on every host. No timestamp is later than
// SOURCE_DATE_EPOCH, by default the time of the commit, and no path of the host is in an image.
//
// It is a separate module, so that the programs do not depend on what builds their images.
package main
