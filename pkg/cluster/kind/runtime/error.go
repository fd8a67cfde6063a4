package runtime

// Codes of a [coded.Error]: stable kebab-case ids.
const (
	Missing          = "runtime-missing" // no command of it on this machine
	Stopped          = "runtime-stopped" // its daemon does not answer
	Denied           = "runtime-denied"  // its daemon does not talk to this user
	Old              = "runtime-old"     // a release that kind cannot work with
	ContainerMissing = "container-missing"
	ContainerStopped = "container-stopped" // nothing can be done in it
	ImageMissing     = "image-missing"     // neither here nor to be pulled
	Failed           = "runtime-failed"    // anything else; the message has its words
)
