package tables

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

var now = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// fits renders a table and measures its lines. With -o wide it may be wider.
func fits[T any](t *testing.T, kind output.Kind[T], items []T) {
	t.Helper()
	if len(items) == 0 {
		t.Errorf("%s: no row", kind.Name)
	}
	var b strings.Builder
	if err := output.List(&b, output.Flags{Format: output.Plain}, kind, items); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > output.Width {
			t.Errorf("%s: %d columns:\n%s", kind.Name, n, b.String())
			return
		}
	}
	if err := output.List(io.Discard, output.Flags{Format: output.Wide}, kind, items); err != nil {
		t.Error(err)
	}
}

// Every table of every built-in topology fits an ordinary terminal, also while things are in trouble.
func TestTablesOfTopologies(t *testing.T) {
	for _, name := range scenarios.Names() {
		t.Run(name, func(t *testing.T) {
			top, err := scenarios.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			fits(t, Nodes(now), nodesOf(top, api.Node{Power: "on"}))
			fits(t, Nodes(now), nodesOf(top, api.Node{Registered: true, Power: "suspended", Ready: "Unknown", Taints: []string{
				"node.cloudprovider.kubernetes.io/shutdown:NoSchedule", "node.kubernetes.io/unreachable:NoExecute",
			}}))
			fits(t, VMs(), vmsOf(top))
			fits(t, Volumes(), volumesOf(top))
			fits(t, Zones(), zonesOf(top))
			fits(t, Leases(now), leasesOf(top))
			fits(t, Components(now), componentsOf(top))
			inventoryFits(t, top)
		})
	}
}

// nodesOf returns the nodes in a state.
func nodesOf(top *topology.Topology, state api.Node) (all []api.Node) {
	for _, n := range top.Nodes() {
		place := top.Place(n)
		row := state
		row.Name, row.VM, row.VCenter, row.Datacenter = strings.ToLower(n.VM.Hostname), n.VM.Name, n.VCenter.Name, n.Datacenter.Name
		row.Region, row.Zone, row.ProviderID = place.Region, place.Zone, "vsphere://"+n.VM.UUID
		all = append(all, row)
	}
	return all
}

func vmsOf(top *topology.Topology) (all []api.VM) {
	for n := range top.AllVMs() {
		row := api.VM{
			Name: n.VM.Name, VCenter: n.VCenter.Name, Datacenter: n.Datacenter.Name, Path: n.InventoryPath(), UUID: n.VM.UUID,
			Power: "on", Process: "running", Role: string(n.VM.Role), Host: n.VM.Host, Addresses: []string{"198.19.164.194", "fd00::1"},
		}
		for _, host := range n.Datacenter.AllHosts() { // the longest that it may run on
			if len(host.Name) > len(row.Host) {
				row.Host = host.Name
			}
		}
		all = append(all, row)
	}
	return all
}

func volumesOf(top *topology.Topology) []api.Volume {
	all := []api.Volume{{ // one that Kubernetes does not know
		Handle: "9f0c0b52-5a36-4d8a-8d0c-6a7e4b1f2a10", CapacityBytes: 1 << 30, State: api.VolumeOrphaned, Waits: "no PersistentVolume has its handle",
	}}
	for _, n := range top.Nodes() {
		all = append(all, api.Volume{
			Claim: "default/data-web-0", Name: "pvc-7ce90c0c-4f0b-4d63-9b1f-5d2b0f4ad1c3", CapacityBytes: 100 << 30, Datastore: n.Datacenter.Datastores[0].Name,
			VM: n.VM.Name, Node: strings.ToLower(n.VM.Hostname), Pods: []string{"default/web-0"}, State: api.VolumeDetached,
			Waits: "pod default/web-0 wants it on another node; node " + n.VM.Name + " does not answer",
		})
	}
	return all
}

func zonesOf(top *topology.Topology) (all []api.Zone) {
	for _, n := range top.Nodes() {
		place := top.Place(n)
		all = append(all, api.Zone{Region: place.Region, Zone: place.Zone, Datacenters: []string{n.Datacenter.Name, n.Datacenter.Name}, VMs: 100, Nodes: 100, ReadyNodes: 100})
	}
	return all
}

func leasesOf(top *topology.Topology) []api.Lease {
	until := now.Add(time.Hour)
	lease := api.Lease{ID: "f10", Fault: "identity.hostname-duplicate", State: "healing", Since: now.Add(-10 * time.Minute), Until: &until}
	for _, n := range top.Nodes() {
		lease.Targets = append(lease.Targets, api.LeaseTarget{Kind: "VM", VCenter: n.VCenter.Name, Name: n.VM.Name})
	}
	return []api.Lease{lease}
}

func componentsOf(top *topology.Topology) (all []api.Component) {
	for _, n := range top.Nodes() {
		all = append(all, api.Component{
			Name: "node/" + n.VM.Hostname, State: "backing-off", PID: 1234567, Restarts: 10, Since: now.Add(-10 * time.Minute),
			Message: "exit status 1: " + strings.Repeat("a long reason ", 9), Log: "/root/.local/state/vsphere-sandbox/default/logs/node.log",
		})
	}
	return all
}

func inventoryFits(t *testing.T, top *topology.Topology) {
	var (
		vcenters    []api.VCenter
		datacenters []api.Datacenter
		hosts       []api.Host
		datastores  []api.Datastore
	)
	for _, vc := range top.Spec.VCenters {
		vcenters = append(vcenters, api.VCenter{
			Name: vc.Name, URL: "https://127.0.0.11:8989/sdk", Gate: "slow", Delay: api.Duration(time.Second), Watched: true, Real: "read-only", Hosts: 100, VMs: 1000, Calls: 100_000,
		})
		for _, dc := range vc.Datacenters {
			datacenters = append(datacenters, api.Datacenter{Name: dc.Name, VCenter: vc.Name, Region: dc.Region, Zone: dc.Zone, Hosts: 100, VMs: 1000, Nodes: 1000})
			for cluster, host := range dc.AllHosts() {
				row := api.Host{Name: host.Name, VCenter: vc.Name, Datacenter: dc.Name, Connection: "notResponding", Power: "poweredOff", VMs: 100}
				if cluster != nil {
					row.Cluster = cluster.Name
				}
				hosts = append(hosts, row)
			}
			for _, ds := range dc.Datastores {
				datastores = append(datastores, api.Datastore{
					Name: ds.Name, VCenter: vc.Name, Datacenter: dc.Name, Type: "VMFS", Accessible: true, CapacityBytes: 1 << 40, FreeBytes: 1<<40 - 1<<30, Volumes: 10,
					Zones: []string{"us-west"}, Hosts: make([]string, 10),
				})
			}
		}
	}
	fits(t, VCenters(), vcenters)
	fits(t, Datacenters(), datacenters)
	fits(t, Hosts(), hosts)
	fits(t, Datastores(), datastores)
}
