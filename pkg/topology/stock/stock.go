package stock

import "slices"

// Behaviour names one correction that can be switched off.
type Behaviour string

// The corrections, by the part of the simulator that makes them.
const (
	// PropertyCollector leaves vcsim's collector in place, deadlocks included.
	PropertyCollector Behaviour = "property-collector"

	SearchScope     Behaviour = "search-scope"     // SearchIndex ignores the datacenter it is given
	SearchCase      Behaviour = "search-case"      // SearchIndex compares UUIDs and DNS names exactly
	SearchAddresses Behaviour = "search-addresses" // SearchIndex knows guest.ipAddress only

	GuestInfo    Behaviour = "guest-info"    // what the guest reports stays through power-off and suspend
	Relocate     Behaviour = "relocate"      // relocation leaves the lists of hosts, pools and datastores alone
	Power        Behaviour = "power"         // reset and guest operations as vcsim has them
	Hosts        Behaviour = "hosts"         // host operations change fields without updates, events or evacuation
	Destroy      Behaviour = "destroy"       // destroying a VM deletes its first-class disks
	Tags         Behaviour = "tags"          // no cardinality, associable types or existence of objects
	APITags      Behaviour = "api-tags"      // no /api/cis/tagging
	APISession   Behaviour = "api-session"   // no /api/session for user and password
	SessionLimit Behaviour = "session-limit" // as many sessions as clients open
	SessionIdle  Behaviour = "session-idle"  // sessions of REST never expire
	Permissions  Behaviour = "permissions"   // every user may do everything
	Events       Behaviour = "events"        // events without messages
	Tasks        Behaviour = "tasks"         // finished tasks stay for ever
	Rename       Behaviour = "rename"        // a rename by reconfiguration is told to nobody
	Dangling     Behaviour = "dangling"      // references to nothing end the process
)

// All lists every behaviour, in the order of the documentation.
func All() []Behaviour {
	return []Behaviour{
		PropertyCollector,
		SearchScope, SearchCase, SearchAddresses,
		GuestInfo, Relocate, Power, Hosts, Destroy,
		Tags, APITags, APISession, SessionLimit, SessionIdle, Permissions,
		Events, Tasks, Rename, Dangling,
	}
}

// Set is the corrections that are switched off. The zero value switches off none.
type Set []Behaviour

// Has tells whether vcsim's own behaviour is wanted.
func (s Set) Has(b Behaviour) bool { return slices.Contains(s, b) }
