package images

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Codes of an [Error]: stable kebab-case ids.
const (
	Missing = "image-missing"         // the runtime does not have it
	Refused = "image-pull-refused"    // nor can it fetch it
	Broken  = "image-archive-broken"  // an archive is damaged, or cut short
	Foreign = "image-archive-foreign" // a file is no archive of this program's
	Unlike  = "image-unlike"          // what the runtime has is not what was loaded
)

// Error is what is wrong with an image or an archive, with one of these codes; what is wrong with a runtime has that package's.
type Error = runtime.Error

// Is tells whether err is, or wraps, an [Error] with that code.
func Is(err error, code string) bool { return runtime.Is(err, code) }

func wrong(code, try string, err error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Try: try, Err: err}
}
