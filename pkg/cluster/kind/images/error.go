package images

// Codes of a [coded.Error]: stable kebab-case ids. What is wrong with a runtime has the codes of package runtime.
const (
	Missing = "image-missing"         // the runtime does not have it
	Refused = "image-pull-refused"    // nor can it fetch it
	Broken  = "image-archive-broken"  // an archive is damaged, or cut short
	Foreign = "image-archive-foreign" // a file is no archive of this program's
	Unlike  = "image-unlike"          // what the runtime has is not what was loaded
)
