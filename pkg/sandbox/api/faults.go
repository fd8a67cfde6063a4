package api

import (
	"context"
	"time"
)

// Selector chooses the targets of a fault: all that is set has to match, and in texts * and ? are wildcards.
type Selector struct {
	// Names are names, hostnames of nodes, VCENTER/NAME or inventory paths: each has to match at least one.
	Names      []string `json:"names,omitempty"`
	VCenter    string   `json:"vcenter,omitempty"`
	Datacenter string   `json:"datacenter,omitempty"`
	Cluster    string   `json:"cluster,omitempty"`
	Host       string   `json:"host,omitempty"`
	Region     string   `json:"region,omitempty"`
	Zone       string   `json:"zone,omitempty"`
	Role       string   `json:"role,omitempty"`
	// Labels is a Kubernetes label selector, for VMs and nodes.
	Labels string `json:"labels,omitempty"`
}

// InjectRequest asks for a fault.
type InjectRequest struct {
	Fault  string            `json:"fault"`
	On     Selector          `json:"on,omitzero"`
	Params map[string]string `json:"params,omitempty"`
	// Mode is one, all, a number or a percentage; "" is all that is named, or the one that the rest selects.
	Mode string `json:"mode,omitempty"`
	// For is how long until it heals by itself; 0: until it is healed.
	For  Duration `json:"for,omitzero"`
	Seed uint64   `json:"seed,omitempty"`
	// DryRun asks for the plan alone: a lease without an ID.
	DryRun bool `json:"dryRun,omitempty"`
	// Confirmed is as in VMRequest, for a fault that writes to a real vCenter.
	Confirmed bool `json:"confirmed,omitempty"`
}

// HealRequest asks for leases to be healed.
type HealRequest struct {
	// IDs are leases; empty with All means every one.
	IDs []string `json:"ids,omitempty"`
	All bool     `json:"all,omitempty"`
}

// Lease is a fault that was injected.
type Lease struct {
	ID    string `json:"id,omitempty"`
	Fault string `json:"fault"`
	// State is applying, active, healing, healed or failed.
	State   string            `json:"state"`
	Targets []LeaseTarget     `json:"targets"`
	Params  map[string]string `json:"params,omitempty"`
	Mode    string            `json:"mode,omitempty"`
	Seed    uint64            `json:"seed,omitempty"`
	Since   time.Time         `json:"since,omitzero"`
	// Until is when it heals by itself.
	Until *time.Time `json:"until,omitempty"`
	// Ended is when it was healed.
	Ended *time.Time `json:"ended,omitempty"`
	// Seq is the event of the injection.
	Seq uint64 `json:"seq,omitempty"`
	// Note is what else is to be said of it in an answer: "was healed already".
	Note string `json:"note,omitempty"`
}

// LeaseTarget is one target of a lease.
type LeaseTarget struct {
	Kind    string `json:"kind"`
	VCenter string `json:"vcenter,omitempty"`
	Name    string `json:"name"`
	// Does says what was done to it.
	Does  string `json:"does"`
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}

// Inject breaks something, and returns when that is done, or refused with nothing touched.
func (c *Client) Inject(ctx context.Context, r InjectRequest) (Lease, error) {
	return post[Lease](ctx, c, "faults", r)
}

// Heal puts right what leases have broken, and returns them when that is done. One that was healed before is left alone,
// and has a Note that says so.
func (c *Client) Heal(ctx context.Context, r HealRequest) ([]Lease, error) {
	return post[[]Lease](ctx, c, "heal", r)
}

// Leases lists the faults that were injected, oldest first: those that last, and the last thousand that are healed.
func (c *Client) Leases(ctx context.Context) ([]Lease, error) { return get[[]Lease](ctx, c, "leases") }
