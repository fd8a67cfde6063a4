//go:build release

package sidecars

import _ "embed"

//go:embed csi-sidecars_linux_amd64.gz
var embedded []byte
