//go:build release

package sidecars

import _ "embed"

//go:embed csi-sidecars_linux_arm64.gz
var embedded []byte
