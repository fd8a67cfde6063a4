package nodeimage

// Codes of a [coded.Error]: stable kebab-case ids. Errors of a runtime have the codes of package runtime.
const (
	Missing = "node-image-missing" // neither on this host nor in a registry
	Unknown = "node-image-unknown" // an image is no node of kind
	Version = "node-image-version" // it is for another Kubernetes
)
