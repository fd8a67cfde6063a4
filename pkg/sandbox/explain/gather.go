package explain

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// Cluster is the API server that is asked. What is not there is nil without an error.
type Cluster interface {
	Node(ctx context.Context, name string) (*corev1.Node, error)
	// Heartbeat is the Lease that the kubelet of a node renews.
	Heartbeat(ctx context.Context, node string) (*coordinationv1.Lease, error)
}

// Inventory is a vCenter that is asked.
type Inventory interface {
	Name() string
	// VMs finds all VMs that may be meant, as its vCenter has them now. With an error it returns what was seen last.
	VMs(ctx context.Context, w Wanted) ([]VMState, error)
	// Categories are the names of its tag categories.
	Categories(ctx context.Context) ([]string, error)
}

// Wanted is what VMs are searched by: a VM is found by any of them.
type Wanted struct {
	UUIDs     []string
	Hostnames []string
	// Names are inventory names.
	Names []string
	// Addresses are those of guests.
	Addresses []netip.Addr
}

// Sources are whom cases are gathered from, and what is known without asking.
type Sources struct {
	// Cluster is nil where there is no Kubernetes.
	Cluster     Cluster
	Inventories []Inventory
	// Around is what is known without asking; its vCenters are in the order of Inventories.
	Around Around
}

// GatherNode asks about a node. The caller must add what needs no call (Bound, Kubelet, Cut); bound, the VM
// whose kubelet has the name, is searched for, too.
func GatherNode(ctx context.Context, s Sources, name, bound string) Node {
	c := Node{Around: s.Around, Name: name, Bound: bound}
	if s.Cluster != nil {
		together(
			func() {
				c.Node = ask(ctx, func(ctx context.Context) (*corev1.Node, error) { return s.Cluster.Node(ctx, name) })
			},
			func() {
				c.Heartbeat = ask(ctx, func(ctx context.Context) (*coordinationv1.Lease, error) { return s.Cluster.Heartbeat(ctx, name) })
			},
		)
	}
	if c.Node.Is == nil {
		e := c.newestOf(ofNode(name), "node.provider-id")
		c.ProviderID = strings.TrimPrefix(e.Message, "providerID ")
	}
	facts := c.facts()
	w := Wanted{Hostnames: facts.Names(), Names: []string{name}, Addresses: facts.Addresses()}
	if _, vm := cutID(bound); vm != "" && vm != name {
		w.Names = append(w.Names, vm)
	}
	if u, err := match.ParseProviderID(facts.ProviderID); err == nil {
		w.UUIDs = append(w.UUIDs, u.String())
	}
	if facts.SystemUUID != "" {
		w.UUIDs = append(w.UUIDs, facts.SystemUUID)
	}
	c.VCenters, c.VMs = s.machines(ctx, w)
	return c
}

// GatherVM asks about a VM of a vCenter by its name. The caller must add its Node, if it should be one.
func GatherVM(ctx context.Context, s Sources, vcenter, name string) VM {
	c := VM{Around: s.Around, VCenter: vcenter, Name: name}
	var found []VMState
	c.VCenters, found = s.machines(ctx, Wanted{Names: []string{name}})
	for _, m := range found {
		if m.VCenter == vcenter && m.Name == name {
			c.State = &m
		}
	}
	return c
}

// machines searches all vCenters at once.
func (s Sources) machines(ctx context.Context, w Wanted) ([]VCenter, []VMState) {
	vcenters := slices.Clone(s.Around.VCenters)
	found := make([][]VMState, len(s.Inventories))
	var mu sync.Mutex
	var asks []func()
	for i, inv := range s.Inventories {
		asks = append(asks, func() {
			got := ask(ctx, func(ctx context.Context) ([]VMState, error) { return inv.VMs(ctx, w) })
			mu.Lock()
			defer mu.Unlock()
			found[i], vcenters[i].Err = got.Is, got.Err
		}, func() {
			got := ask(ctx, inv.Categories)
			mu.Lock()
			defer mu.Unlock()
			vcenters[i].Categories = got
		})
	}
	together(asks...)
	return vcenters, slices.Concat(found...)
}

// Names are all that events call nodes or VMs (VCENTER/NAME for these), each once: what is gone can be asked about, too.
func Names(events []event.Event, kind string) (names []string) {
	seen := map[string]bool{}
	for _, e := range events {
		name := e.Object.Name
		if e.Object.Kind != kind || name == "" {
			continue
		}
		if kind == "VM" {
			name = e.Object.VCenter + "/" + name
		}
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}
