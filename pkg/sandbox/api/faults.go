package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	// For is the time until it heals automatically; 0: until it is healed.
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
	// Until is when it heals automatically.
	Until *time.Time `json:"until,omitempty"`
	// Ended is when it was healed.
	Ended *time.Time `json:"ended,omitempty"`
	// Seq is the event of the injection.
	Seq uint64 `json:"seq,omitempty"`
	// Note is a remark in an answer: "was healed already".
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

// CCMRequest asks for another cloud controller manager.
type CCMRequest struct {
	// Path is the program; "" is the built-in one.
	Path string `json:"path,omitempty"`
	// Source, Version and Digest say what it is, for status.
	Source  string `json:"source,omitempty"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Args come after the sandbox's own, Env (KEY=VALUE) is added to the environment.
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"`
	// Replicas is how many run; 0 is one.
	Replicas int `json:"replicas,omitempty"`
}

// SwapCCM has another cloud controller manager run, and returns when it is healthy. One that does not become so is
// replaced by the one before, and the error says why.
func (c *Client) SwapCCM(ctx context.Context, r CCMRequest) (Done, error) {
	return post[Done](ctx, c, "ccm", r)
}

// RestartCCM ends the cloud controller manager in order, starts it again, and returns when it is healthy.
func (c *Client) RestartCCM(ctx context.Context) (Done, error) {
	return post[Done](ctx, c, "ccm/restart", struct{}{})
}

// Metrics returns the metrics of a component in Prometheus' text format: "ccm", "ccm-2",
// "control-plane".
func (c *Client) Metrics(ctx context.Context, component string) ([]byte, error) {
	resp, err := c.do(ctx, http.MethodGet, "metrics/"+url.PathEscape(component), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// Ground is what a sandbox stands on.
type Ground struct {
	// Cluster is the Kubernetes cluster: embedded (a process, with what its nodes take beside it), kind (containers), pod (the
	// cluster that the sandbox itself is a pod of), existing (a cluster of the user's), or none (vCenters only).
	Cluster string `json:"cluster"`
	// Inventory is simulated or real.
	Inventory string `json:"inventory"`
	// Writable reports whether VMs can be changed: those of simulated vCenters always, those of real ones in the scope that it
	// was started with, each time the user confirms it.
	Writable bool `json:"writable"`
	// Nodes is what stands for a node: hollow (a kubelet's process), container, light (one process for all), mixed, light
	// ones beside the others, or real, a VM with a kubelet that is not the sandbox's; "" without nodes.
	Nodes string `json:"nodes,omitempty"`
	// Supervisor reports that the cluster is a guest cluster of a Supervisor: its nodes have the zone of their VirtualMachine, and
	// no region.
	Supervisor bool `json:"supervisor,omitempty"`
}

// The values of [Ground].
const (
	ClusterEmbedded = "embedded"
	ClusterKind     = "kind"
	ClusterPod      = "pod"
	ClusterExisting = "existing"
	ClusterNone     = "none"

	InventorySimulated = "simulated"
	InventoryReal      = "real"

	NodesHollow    = "hollow"
	NodesLight     = "light"
	NodesMixed     = "mixed"
	NodesContainer = "container"
	NodesReal      = "real"
)

// The values of [VCenter.Real].
const (
	RealReadOnly = "read-only"
	RealWritable = "writable"
)

// Real says of real vCenters what may be done to them, as [VCenter.Real] does; "" for simulated ones.
func (g Ground) Real() string {
	switch {
	case g.Inventory != InventoryReal:
		return ""
	case g.Writable:
		return RealWritable
	}
	return RealReadOnly
}

// ApplyRequest asks for the inventories to become those of a topology.
type ApplyRequest struct {
	// Topology is the topology, resolved, as YAML: what topology.Marshal writes.
	Topology string `json:"topology"`
	// DryRun asks for the steps alone.
	DryRun bool `json:"dryRun,omitempty"`
	// Prune removes all objects that the topology does not name, also those of other tools.
	Prune bool `json:"prune,omitempty"`
}

// Change is one step from the inventories as they are to those of a topology.
type Change struct {
	// Op is create, change or remove.
	Op      string `json:"op"`
	Kind    string `json:"kind"`
	VCenter string `json:"vcenter"`
	// Path is an inventory path, or a name for an object without one.
	Path string `json:"path"`
	// What says what about it.
	What string `json:"what,omitempty"`
	// PowerOff says that a VM that runs is powered off for it.
	PowerOff bool `json:"powerOff,omitempty"`
}

// ApplyLine is one line of the answer to an [ApplyRequest]: first the steps, then one line for each that is done, then
// the end.
type ApplyLine struct {
	// Changes are the steps, in order; in the first line.
	Changes []Change `json:"changes,omitempty"`
	// Done is how many steps are done.
	Done int `json:"done"`
	// End is set in the last line; with an Error, the step after those that are done could not be.
	End   bool   `json:"end,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// Topology is the topology that the inventories of a sandbox should have, resolved, as YAML.
type Topology struct {
	Topology string `json:"topology"`
}

// Topology returns the topology that was applied last, or that the sandbox was started with.
func (c *Client) Topology(ctx context.Context) (Topology, error) {
	return get[Topology](ctx, c, "topology")
}

// Apply makes the inventories those of a topology, and calls f for each line of the answer. When ctx ends, the sandbox
// finishes the step it is at and does no other. It returns an error of f, the sandbox's refusal, or the error of the
// step that could not be done.
func (c *Client) Apply(ctx context.Context, r ApplyRequest, f func(ApplyLine) error) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	resp, err := c.do(ctx, http.MethodPost, "topology", bytes.NewReader(b))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var line ApplyLine
		if err := d.Decode(&line); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == io.EOF {
				err = io.ErrUnexpectedEOF // there is always a last line
			}
			return fmt.Errorf("topology: %w", err)
		}
		if err := f(line); err != nil {
			return err
		}
		if line.Error != nil {
			return line.Error
		}
		if line.End {
			return nil
		}
	}
}
