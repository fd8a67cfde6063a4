//go:build release

package programs

import _ "embed"

//go:embed sources.tar.gz
var packed []byte

// sources are those of the program, in a tar.gz that hack/kubernetes has put beside this file.
func sources() []byte { return packed }
