package upstream

// Codes of a [coded.Error] of this package, which does not name the module.
const (
	GoMissing      = "go-missing"      // there is no toolchain
	VersionUnknown = "version-unknown" // there is no such release, or none to be had
	BuildFailed    = "build-failed"
)
