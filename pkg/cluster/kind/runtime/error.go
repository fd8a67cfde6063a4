package runtime

// Codes of a [coded.Error]: stable kebab-case ids.
const (
	Missing          = "runtime-missing" // its command is not installed
	Stopped          = "runtime-stopped" // its daemon does not respond
	Denied           = "runtime-denied"  // its daemon denies access to this user
	Old              = "runtime-old"     // a release that kind does not support
	ContainerMissing = "container-missing"
	ContainerStopped = "container-stopped" // nothing can be run in it
	ImageMissing     = "image-missing"     // neither local nor in a registry
	Failed           = "runtime-failed"    // anything else; the message has the command's
)
