package csidriver

// Codes of a [coded.Error]: stable kebab-case ids.
const (
	Usage           = "usage"
	GoMissing       = "go-missing"
	VersionUnknown  = "csi-version-unknown"
	BuildFailed     = "csi-build-failed"
	ManifestMissing = "csi-manifest-missing"
)
