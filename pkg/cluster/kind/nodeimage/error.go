package nodeimage

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"

// Codes of an [Error]: stable kebab-case ids.
const (
	Missing = "node-image-missing" // there is none to be had
	Unknown = "node-image-unknown" // an image is no node of kind
	Version = "node-image-version" // it is for another Kubernetes
)

// Error is why there is no node image, with one of these codes; what is wrong with a runtime has that package's.
type Error = runtime.Error

// Is tells whether err is, or wraps, an [Error] with that code.
func Is(err error, code string) bool { return runtime.Is(err, code) }
