package stock

import "slices"

// Behavior names one correction that can be switched off.
type Behavior string

// The corrections, by the part of the simulator that makes them.
const (
	// PropertyCollector leaves vcsim's collector in place, deadlocks included.
	PropertyCollector Behavior = "property-collector"

	SearchScope     Behavior = "search-scope"     // SearchIndex ignores the datacenter it is given
	SearchCase      Behavior = "search-case"      // SearchIndex compares UUIDs and DNS names exactly
	SearchAddresses Behavior = "search-addresses" // SearchIndex knows guest.ipAddress only

	GuestInfo    Behavior = "guest-info"    // what the guest reports stays through power-off and suspend
	Relocate     Behavior = "relocate"      // relocation leaves the lists of hosts, pools and datastores alone
	Power        Behavior = "power"         // reset and guest operations as vcsim has them
	Hosts        Behavior = "hosts"         // host operations change fields without updates, events or evacuation
	Destroy      Behavior = "destroy"       // destroying a VM deletes its first-class disks
	Tags         Behavior = "tags"          // no cardinality, associable types or existence of objects
	APITags      Behavior = "api-tags"      // no /api/cis/tagging
	APISession   Behavior = "api-session"   // no /api/session for user and password
	SessionLimit Behavior = "session-limit" // as many sessions as clients open
	SessionIdle  Behavior = "session-idle"  // sessions of REST never expire
	Permissions  Behavior = "permissions"   // every user may do everything
	Events       Behavior = "events"        // events without messages
	Tasks        Behavior = "tasks"         // finished tasks stay for ever
	Rename       Behavior = "rename"        // a rename by reconfiguration is told to nobody
	Dangling     Behavior = "dangling"      // references to nothing end the process
)

// All lists every behavior, in the order of the documentation.
func All() []Behavior {
	return []Behavior{
		PropertyCollector,
		SearchScope, SearchCase, SearchAddresses,
		GuestInfo, Relocate, Power, Hosts, Destroy,
		Tags, APITags, APISession, SessionLimit, SessionIdle, Permissions,
		Events, Tasks, Rename, Dangling,
	}
}

// Set is the corrections that are switched off. The zero value switches off none.
type Set []Behavior

// Has reports whether vcsim's own behavior is wanted.
func (s Set) Has(b Behavior) bool { return slices.Contains(s, b) }
