package topology

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// NSX is an NSX Manager beside the vCenters, for load balancers and routes. Nil: the topology has no NSX Manager.
type NSX struct {
	// Pools are its IP pools, for the addresses of Services. Default: one named "services".
	Pools []NSXPool `json:"pools,omitempty"`
	// Tier1 is its gateway for load balancers and routes. Default: "workload".
	Tier1 string `json:"tier1,omitempty"`
	// Edge is the edge cluster of the gateway; "none" for a gateway without one, on which load balancers are not realized.
	// Default: "edge-cluster".
	Edge string `json:"edge,omitempty"`
	// Realization is the time from a change of an object to its realization. Default: 100ms.
	Realization Duration `json:"realization,omitempty"`
	// Routes: the cloud controller manager makes a static route of the gateway for each node and its network of pods. Default: none.
	Routes bool `json:"routes,omitempty"`
}

// NSXPool is an IP pool.
type NSXPool struct {
	Name string `json:"name"`
	// Ranges of addresses, such as 10.20.0.10-10.20.0.99. Default: addresses of this machine's loopback interface, of the sandbox's
	// block, which answer.
	Ranges []string `json:"ranges,omitempty"`
}

// Names of [NSX].
const (
	// NoEdge is the Edge of a gateway without an edge cluster.
	NoEdge = "none"

	defaultNSXPool     = "services"
	defaultTier1       = "workload"
	defaultEdge        = "edge-cluster"
	defaultRealization = 100 * time.Millisecond
)

// maxNSXPools limits the pools that share the loopback addresses.
const maxNSXPools = 16

// AddressRange is one of [NSXPool].Ranges.
type AddressRange struct{ First, Last netip.Addr }

// ParseRange returns the addresses of a range.
func ParseRange(text string) (AddressRange, error) {
	from, to, ok := strings.Cut(text, "-")
	first, err := netip.ParseAddr(strings.TrimSpace(from))
	last, err2 := netip.ParseAddr(strings.TrimSpace(to))
	if !ok || err != nil || err2 != nil || first.BitLen() != last.BitLen() || last.Less(first) {
		return AddressRange{}, fmt.Errorf("must be a range of addresses, such as 10.20.0.10-10.20.0.99")
	}
	return AddressRange{first, last}, nil
}

// checkNSX checks an optional NSX Manager.
func checkNSX(p *problems, at *path, n *NSX) {
	if n == nil {
		return
	}
	checkOptional(p, at.key("tier1"), n.Tier1, dnsLabel)
	checkOptional(p, at.key("edge"), n.Edge, dnsLabel)
	if len(n.Pools) > maxNSXPools {
		p.field(at.key("pools"), "", "has more than %d", maxNSXPools)
	}
	var taken []AddressRange
	names := map[string]bool{}
	for i, pool := range n.Pools {
		at := at.key("pools").item(i)
		checkName(p, at.key("name"), pool.Name, dnsLabel)
		if names[pool.Name] {
			p.field(at.key("name"), "", "occurs twice: %s", strict.Shown(pool.Name))
		}
		names[pool.Name] = true
		for j, text := range pool.Ranges {
			r, err := ParseRange(text)
			if err != nil {
				p.field(at.key("ranges").item(j), "", "%v: %s", err, strict.Shown(text))
				continue
			}
			if slices.ContainsFunc(taken, func(o AddressRange) bool {
				return o.First.BitLen() == r.First.BitLen() && !r.Last.Less(o.First) && !o.Last.Less(r.First)
			}) {
				p.field(at.key("ranges").item(j), "", "has addresses of another range: %s", strict.Shown(text))
			}
			taken = append(taken, r)
		}
	}
}

// defaultNSX fills in what an NSX Manager has by default.
func defaultNSX(n *NSX) {
	if n == nil {
		return
	}
	if len(n.Pools) == 0 {
		n.Pools = []NSXPool{{Name: defaultNSXPool}}
	}
	fill(&n.Tier1, defaultTier1)
	fill(&n.Edge, defaultEdge)
	fill(&n.Realization, Duration(defaultRealization))
}
