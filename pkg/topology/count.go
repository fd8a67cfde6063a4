package topology

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Counts holds numbers of objects.
type Counts struct {
	VCenters    int `json:"vcenters"`
	Datacenters int `json:"datacenters"`
	Clusters    int `json:"clusters"`
	Hosts       int `json:"hosts"`
	VMs         int `json:"vms"`
	Nodes       int `json:"nodes"`
}

// Count counts a resolved topology.
func (t *Topology) Count() Counts {
	c := Counts{VCenters: len(t.Spec.VCenters), Nodes: len(t.Nodes())}
	for _, vcenter := range t.Spec.VCenters {
		c.Datacenters += len(vcenter.Datacenters)
		for _, dc := range vcenter.Datacenters {
			c.Clusters += len(dc.Clusters)
			c.VMs += len(dc.VMs)
			for range dc.AllHosts() {
				c.Hosts++
			}
		}
	}
	return c
}

// String returns a summary: "2 vCenters, 3 datacenters, 6 VMs, 6 nodes".
func (c Counts) String() string { return c.Inventory() + ", " + shorten.Count(c.Nodes, "node") }

// Inventory returns a summary without nodes: "2 vCenters, 3 datacenters, 6 VMs".
func (c Counts) Inventory() string {
	return strings.Join([]string{shorten.Count(c.VCenters, "vCenter"), shorten.Count(c.Datacenters, "datacenter"), shorten.Count(c.VMs, "VM")}, ", ")
}
