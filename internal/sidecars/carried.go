//go:build release

package sidecars

import _ "embed"

// hack/carry puts it there, for the platform that is built for.
//
//go:embed csi-sidecars.gz
var archive []byte

// carried is the program, in gzip.
func carried() []byte { return archive }
