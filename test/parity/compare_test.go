package parity

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// difference is one thing that two providers made differently of a node.
type difference struct{ node, field, ours, theirs string }

func (d difference) String() string {
	return fmt.Sprintf("%s: %s: %s here, %s there", d.node, d.field, d.ours, d.theirs)
}

// compare returns the differences, sorted by the nodes' names.
func compare(ours, theirs []lab.Snapshot) []difference {
	var all []difference
	byName := map[string]lab.Snapshot{}
	for _, s := range theirs {
		byName[s.Name] = s
	}
	for _, a := range ours {
		b, ok := byName[a.Name]
		if !ok {
			all = append(all, difference{a.Name, "node", "there", "deleted"})
			continue
		}
		delete(byName, a.Name)
		for _, f := range []struct{ field, a, b string }{
			{"providerID", a.ProviderID, b.ProviderID},
			{"type", a.Type, b.Type},
			{"labels", fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)}, // fmt sorts maps
			{"addresses", fmt.Sprint(a.Addresses), fmt.Sprint(b.Addresses)},
			{"taints", fmt.Sprint(a.Taints), fmt.Sprint(b.Taints)},
		} {
			if f.a != f.b {
				all = append(all, difference{a.Name, f.field, f.a, f.b})
			}
		}
	}
	for name := range byName {
		all = append(all, difference{name, "node", "deleted", "there"})
	}
	slices.SortStableFunc(all, func(a, b difference) int { return cmp.Compare(a.node, b.node) })
	return all
}

// explained is why a release decided otherwise, in a row of docs/provider.md; empty when nothing explains it.
func explained(d difference) string {
	if d.field == "taints" && d.theirs == "[]" && d.ours == "["+lab.ShutdownTaint+"]" {
		return "a VM without addresses is an error before its power state is looked at"
	}
	return ""
}
