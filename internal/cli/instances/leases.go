package instances

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// leases tells which faults were in force when a sandbox died; "" for none. Its vCenters and its cluster ended with it,
// so nothing is left of them that could be healed.
func leases(root, name string) string {
	dir, err := instance.Open(root, name)
	if err != nil {
		return ""
	}
	records, err := fault.ReadJournal(dir.Path("leases.jsonl"))
	if err != nil && len(records) == 0 {
		return ""
	}
	const many = 5
	var words []string
	for i, r := range records {
		if i == many {
			words = append(words, fmt.Sprintf("%d more", len(records)-many))
			break
		}
		words = append(words, r.Lease.ID+" "+r.Lease.Kind)
	}
	switch len(words) {
	case 0:
		return ""
	case 1:
		return "; 1 fault ended with it: " + words[0]
	}
	return fmt.Sprintf("; %d faults ended with it: %s", len(records), strings.Join(words, ", "))
}
