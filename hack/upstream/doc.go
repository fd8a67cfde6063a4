// Command upstream builds a release of the upstream vSphere cloud provider, unmodified, from its Go module, and prints the
// path of the binary:
//
//	go -C hack/upstream run . v1.36.0
//
// It is built with the go.mod and go.sum that it was released with, in a folder of its own, and kept in the user's cache
// folder ($XDG_CACHE_HOME/vsphere-sandbox/upstream, or -cache): the first build of a release takes some minutes, the next
// call nothing. Releases that this project is compared with are pinned by the checksum of their module (releases.go); any
// other one is left to Go's checksum database.
//
// It is a module of its own so that nothing of upstream's reaches this project's.
package main
