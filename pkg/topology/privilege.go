package topology

import (
	_ "embed"
	"strings"
)

// privilegeNames are the identifiers of the privileges of a vCenter, one on a line, as govmomi has them of one (the role
// Admin in simulator/esx, v0.56.0). The simulator knows no others.
//
//go:embed privileges.txt
var privilegeNames string

func knownPrivileges() map[string]bool {
	known := map[string]bool{}
	for name := range strings.Lines(privilegeNames) {
		known[strings.TrimSpace(name)] = true
	}
	return known
}
