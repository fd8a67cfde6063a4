//go:build release

package programs

import _ "embed"

//go:embed vsphere-sandbox-kubernetes_linux_arm64.gz
var embedded []byte
