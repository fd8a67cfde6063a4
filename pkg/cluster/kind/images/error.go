package images

// Codes of a [coded.Error]: stable kebab-case ids. Errors of a runtime have the codes of package runtime.
const (
	Missing = "image-missing"         // the runtime does not have it
	Refused = "image-pull-refused"    // and cannot pull it
	Broken  = "image-archive-broken"  // an archive is damaged or truncated
	Foreign = "image-archive-foreign" // this program did not write the file
	Unlike  = "image-unlike"          // the runtime has another image than it loaded
)
