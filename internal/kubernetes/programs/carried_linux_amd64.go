//go:build release

package programs

import _ "embed"

//go:embed vsphere-sandbox-kubernetes_linux_amd64.gz
var embedded []byte
