package explain

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// placed is where tags say that a VM is, and how that was found out.
type placed struct {
	region, zone string
	// found: both are known, by one walk.
	found bool
	// steps are the objects that were looked at, in order, each once.
	steps []step
	// regions and zones count the tags of each category on all of them.
	regions, zones int
}

// step is an object with the tags of the two categories on it.
type step struct {
	Object
	from           string // "", or where a further walk begins
	regions, zones []string
	region, zone   bool // its tag counts
}

// place walks as package inventory of the provider does (Inventory.Zone): from the host up, then from the resource pool,
// then from the VM, until one walk has both; for each the nearest tag counts, and of several on one object the first by
// name. What different walks find is not mixed.
func place(m Machine, want config.Labels) (p placed) {
	seen := map[spot]int{}
	for i, walk := range [][]Object{m.FromHost, m.FromPool, m.FromVM} {
		region, zone := "", ""
		var marks []func()
		for _, o := range walk {
			s := step{Object: o, regions: tagsOf(o, want.Region), zones: tagsOf(o, want.Zone)}
			at, had := seen[spot{o.Type, o.Name, o.Ref}]
			if !had {
				if at = len(p.steps); i > 0 {
					s.from = [...]string{"", "from the resource pool: ", "from the VM: "}[i]
				}
				seen[spot{o.Type, o.Name, o.Ref}] = at
				p.steps = append(p.steps, s)
				p.regions, p.zones = p.regions+len(s.regions), p.zones+len(s.zones)
			}
			if region == "" && len(s.regions) > 0 {
				region = s.regions[0]
				marks = append(marks, func() { p.steps[at].region = true })
			}
			if zone == "" && len(s.zones) > 0 {
				zone = s.zones[0]
				marks = append(marks, func() { p.steps[at].zone = true })
			}
			if region != "" && zone != "" {
				p.found = true
				break
			}
		}
		if p.region == "" && p.zone == "" || p.found {
			p.region, p.zone = region, zone
		}
		if p.found {
			for _, mark := range marks {
				mark()
			}
			return p
		}
	}
	return p
}

// spot tells objects of one vCenter apart as far as a walk needs it.
type spot struct{ kind, name, ref string }

// tagsOf lists the tags of a category on an object, by name.
func tagsOf(o Object, category string) (names []string) {
	for _, t := range o.Tags {
		if t.Category == category {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}
