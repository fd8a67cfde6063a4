package policy

import (
	"fmt"
	"slices"
	"strings"

	pbm "github.com/vmware/govmomi/pbm/types"
)

// Encryption is the name of the one profile of every vCenter that says nothing of having been made by the system.
const Encryption = "VM Encryption Policy"

// BuiltIn tells whether every vCenter has the profile.
func BuiltIn(p *pbm.PbmCapabilityProfile) bool {
	return p.SystemCreatedProfileType != "" || p.Name == Encryption
}

// Same tells whether two profiles ask for the same, in whatever order and whatever their rule sets are called.
func Same(a, b pbm.BasePbmCapabilityConstraints) bool { return slices.Equal(written(a), written(b)) }

// written is a line for each rule set.
func written(c pbm.BasePbmCapabilityConstraints) []string {
	sets, ok := c.(*pbm.PbmCapabilitySubProfileConstraints)
	if !ok {
		return nil
	}
	var lines []string
	for i := range sets.SubProfiles {
		var rules []string
		for _, c := range sets.SubProfiles[i].Capability {
			for _, constraint := range c.Constraint {
				for _, p := range constraint.PropertyInstance {
					list := values(p.Value)
					if list == nil {
						list = []string{fmt.Sprint(p.Value)}
					}
					slices.Sort(list)
					rules = append(rules, fmt.Sprintf("%q", append([]string{c.Id.Namespace, c.Id.Id, p.Id, p.Operator}, list...)))
				}
			}
		}
		slices.Sort(rules)
		lines = append(lines, strings.Join(rules, " "))
	}
	slices.Sort(lines)
	return lines
}
