package scenario

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Requirements are what a sandbox has to be for a scenario.
type Requirements struct {
	Topology   *topology.Topology
	Components Components
}

// Requirements are what the scenario needs.
func (s *Scenario) Requirements() Requirements {
	return Requirements{Topology: s.Topology.Resolved, Components: s.Components}
}

// Key is the same for the same requirements only.
func (r Requirements) Key() string {
	if r.Components.CCM.Replicas == 1 {
		r.Components.CCM.Replicas = 0 // as if left out
	}
	if r.Components.CSI == "off" {
		r.Components.CSI = "" // the same
	}
	data, err := json.Marshal(r)
	if err != nil {
		return "" // plain data always can be
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Group are scenarios that can run on one sandbox, one after the other.
type Group struct {
	Requirements
	Scenarios []*Scenario
}

// GroupBy puts scenarios that can share a sandbox together: the groups in the order of their first scenarios, the
// scenarios of a group in theirs.
func GroupBy(list []*Scenario) []Group {
	var groups []Group
	at := map[string]int{}
	for _, s := range list {
		r := s.Requirements()
		i, ok := at[r.Key()]
		if !ok {
			i = len(groups)
			at[r.Key()] = i
			groups = append(groups, Group{Requirements: r})
		}
		groups[i].Scenarios = append(groups[i].Scenarios, s)
	}
	// Plain ones first: what most people look at comes early.
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(a.weight(), b.weight()) })
	return groups
}

func (g Group) weight() int {
	c := g.Components.CCM
	if g.Components.Speed == 0 && g.Components.CSI == "" && c.Source == "" && c.Replicas <= 1 && len(c.Args) == 0 && len(c.Env) == 0 {
		return 0
	}
	return 1
}
