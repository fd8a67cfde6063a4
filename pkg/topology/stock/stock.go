package stock

import "slices"

// Behavior is a correction that can be disabled.
type Behavior string

// The corrections, by the part of the simulator.
const (
	// PropertyCollector keeps vcsim's collector, including its deadlocks.
	PropertyCollector Behavior = "property-collector"

	SearchScope     Behavior = "search-scope"     // SearchIndex ignores the requested datacenter
	SearchCase      Behavior = "search-case"      // SearchIndex compares UUIDs and DNS names exactly
	SearchAddresses Behavior = "search-addresses" // SearchIndex only knows guest.ipAddress

	GuestInfo    Behavior = "guest-info"    // guest reports stay through power-off and suspend
	Relocate     Behavior = "relocate"      // relocation does not update the lists of hosts, pools and datastores
	Power        Behavior = "power"         // reset and guest operations as in vcsim
	Hosts        Behavior = "hosts"         // host operations change fields without updates, events or evacuation
	Destroy      Behavior = "destroy"       // destroying a VM deletes its first-class disks
	Tags         Behavior = "tags"          // no cardinality, associable types or existence of objects
	APITags      Behavior = "api-tags"      // no /api/cis/tagging
	APISession   Behavior = "api-session"   // no /api/session for user and password
	SessionLimit Behavior = "session-limit" // no limit of sessions
	SessionIdle  Behavior = "session-idle"  // REST sessions never expire
	Permissions  Behavior = "permissions"   // every user has all privileges
	Events       Behavior = "events"        // events without messages
	Tasks        Behavior = "tasks"         // finished tasks stay forever
	Rename       Behavior = "rename"        // a rename by reconfiguration sends no update
	Dangling     Behavior = "dangling"      // references to missing objects end the process
)

// All returns every behavior, in the order of the documentation.
func All() []Behavior {
	return []Behavior{
		PropertyCollector,
		SearchScope, SearchCase, SearchAddresses,
		GuestInfo, Relocate, Power, Hosts, Destroy,
		Tags, APITags, APISession, SessionLimit, SessionIdle, Permissions,
		Events, Tasks, Rename, Dangling,
	}
}

// Set is the set of disabled corrections. The zero value disables none.
type Set []Behavior

// Has reports whether vcsim's behavior is kept.
func (s Set) Has(b Behavior) bool { return slices.Contains(s, b) }
