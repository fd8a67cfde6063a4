package fault

import "time"

// Selector chooses targets. All that is set has to match; in texts * and ? are wildcards.
type Selector struct {
	// Names are names, hostnames of nodes, VCENTER/NAME or inventory paths: each has to match at least one.
	Names      []string
	VCenter    string
	Datacenter string
	Cluster    string
	Host       string
	Region     string
	Zone       string
	Role       string
	// Labels is a Kubernetes label selector, for VMs and nodes.
	Labels string
}

// Request asks for an injection.
type Request struct {
	Kind   string
	On     Selector
	Params map[string]string
	// Mode is how many of what On chooses: one, all, a number, a percentage ("25%"). Empty: all of Names, else exactly
	// one, and more than that is refused.
	Mode string
	// For is how long until it heals by itself; 0: until it is healed.
	For time.Duration
	// Seed draws the targets, and whatever the kind draws. 0: a new one, which the lease tells.
	Seed uint64
	// Cause is the event that asks for it; 0: none.
	Cause uint64
}
