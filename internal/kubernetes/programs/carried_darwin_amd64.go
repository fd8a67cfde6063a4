//go:build release

package programs

import _ "embed"

//go:embed vsphere-sandbox-kubernetes_darwin_amd64.gz
var embedded []byte
