package clitest

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Now is the time of every test.
var Now = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// World is the state that a sandbox reports.
type World struct {
	Status      api.Status
	VCenters    []api.VCenter
	Datacenters []api.Datacenter
	Hosts       []api.Host
	VMs         []api.VM
	Nodes       []api.Node
	Zones       []api.Zone
	Access      []api.Access
	Events      []api.EventLine
	Leases      []api.Lease
	Calls       []api.Calls
	Datastores  []api.Datastore
	Volumes     []api.Volume
	NSX         []api.NSXObject
	Machines    []api.VirtualMachine
	Balancers   []api.VirtualMachineService
	// Changes are what a topology that is applied comes to.
	Changes []api.Change
	// Explanations and Inspections are the answers for one object, by KIND/NAME.
	Explanations map[string]api.Explanation
	Inspections  map[string]api.Inspection
}

// ZonesUSEU returns a small world in good health: two vCenters, two datacenters, two nodes.
func ZonesUSEU() World {
	ready := Now.Add(-10 * time.Minute)
	start := ready.Add(-7 * time.Second)
	vcenters := []api.VCenter{
		{Name: "us", URL: "https://127.0.0.2:8989/sdk", User: "administrator@vsphere.local", InstanceUUID: "5e9d3c5a-0001", Version: "8.0.3", Gate: "up", Watched: true, Datacenters: 1, Hosts: 2, VMs: 1, Calls: 120},
		{Name: "eu", URL: "https://127.0.0.3:8989/sdk", User: "administrator@vsphere.local", InstanceUUID: "5e9d3c5a-0002", Version: "8.0.3", Gate: "up", Watched: true, Datacenters: 1, Hosts: 1, VMs: 1, Calls: 80},
	}
	return World{
		Status: api.Status{
			Name: "default", Phase: api.Ready, PID: 4242, Topology: "zones-us-eu", Speed: 10, StartedAt: start, ReadyAt: &ready,
			Dir: "/state/default", Server: "https://127.0.0.1:6443", Kubeconfig: "/state/default/kubeconfig",
			Context: "vsphere-sandbox-default", Version: "v0.1.0", KubernetesVersion: "v1.36.4",
			Ground: api.Ground{Cluster: api.ClusterEmbedded, Inventory: api.InventorySimulated, Writable: true, Nodes: api.NodesHollow},
			Components: []api.Component{
				{Name: "ccm", State: "running", PID: 4301, Since: ready},
				{Name: "control-plane", State: "running", PID: 4300, Since: start},
				{Name: "node/control-plane-1", State: "running", PID: 4302, Since: start},
				{Name: "node/worker-1", State: "running", PID: 4303, Restarts: 1, Since: ready},
			},
			VCenters: vcenters,
			Nodes:    api.NodeCount{Wanted: 2, Registered: 2, Initialized: 2, Ready: 2},
		},
		VCenters: vcenters,
		Datacenters: []api.Datacenter{
			{Name: "dcwest", VCenter: "us", Path: "/dcwest", Region: "us", Zone: "us-west", Hosts: 2, VMs: 1, Nodes: 1},
			{Name: "dceu", VCenter: "eu", Path: "/folder/dceu", Region: "eu", Zone: "eu-all", Hosts: 1, VMs: 1, Nodes: 1},
		},
		Hosts: []api.Host{
			{Name: "esx-1", VCenter: "us", Datacenter: "dcwest", Cluster: "c1", Connection: "connected", Power: "on", CPUs: 16, MemoryBytes: 64 << 30, VMs: 1},
			{Name: "esx-2", VCenter: "us", Datacenter: "dcwest", Cluster: "c1", Connection: "disconnected", Power: "on", CPUs: 16, MemoryBytes: 64 << 30},
			{Name: "esx-3", VCenter: "eu", Datacenter: "dceu", Connection: "connected", Power: "on", CPUs: 8, MemoryBytes: 3 << 29, VMs: 1},
		},
		VMs: []api.VM{
			{Name: "control-plane-1", VCenter: "us", Datacenter: "dcwest", Cluster: "c1", Host: "esx-1", Path: "/dcwest/vm/control-plane-1", MoRef: "vm-21", UUID: "42000000-0000-4000-8000-000000000001", Power: "on", Connection: "connected", Tools: true, Hostname: "control-plane-1", Addresses: []string{"10.0.0.11"}, CPUs: 4, MemoryBytes: 8 << 30, GuestID: "ubuntu64Guest", Region: "us", Zone: "us-west", Role: "control-plane", Process: "running"},
			{Name: "worker-1", VCenter: "eu", Datacenter: "dceu", Host: "esx-3", Path: "/folder/dceu/vm/worker-1", MoRef: "vm-21", UUID: "42000000-0000-4000-8000-000000000002", Power: "on", Connection: "connected", Tools: true, Hostname: "worker-1.example", Addresses: []string{"10.1.0.11", "fd00::11"}, CPUs: 2, MemoryBytes: 4 << 30, GuestID: "ubuntu64Guest", Region: "eu", Zone: "eu-all", Role: "worker", Process: "running"},
		},
		Nodes: []api.Node{
			{Name: "control-plane-1", VM: "control-plane-1", VCenter: "us", Datacenter: "dcwest", Power: "on", Registered: true, Ready: "True", Initialized: true, Taints: []string{"node-role.kubernetes.io/control-plane:NoSchedule"}, Region: "us", Zone: "us-west", ProviderID: "vsphere://42000000-0000-4000-8000-000000000001", InstanceType: "vsphere-vm.cpu-4.mem-8gb.os-ubuntu", Addresses: []string{"10.0.0.11"}, Roles: []string{"control-plane"}, Version: "v1.36.4", Created: start},
			{Name: "worker-1.example", VM: "worker-1", VCenter: "eu", Datacenter: "dceu", Power: "on", Registered: true, Ready: "True", Initialized: true, Region: "eu", Zone: "eu-all", ProviderID: "vsphere://42000000-0000-4000-8000-000000000002", InstanceType: "vsphere-vm.cpu-2.mem-4gb.os-ubuntu", Addresses: []string{"10.1.0.11", "fd00::11"}, Version: "v1.36.4", Created: ready},
		},
		Zones: []api.Zone{
			{Region: "us", Zone: "us-west", Datacenters: []string{"us/dcwest"}, VMs: 1, Nodes: 1, ReadyNodes: 1},
			{Region: "eu", Zone: "eu-all", Datacenters: []string{"eu/dceu"}, VMs: 1, Nodes: 1, ReadyNodes: 1},
		},
		Access: []api.Access{
			{VCenter: "us", URL: "https://127.0.0.2:8989/sdk", User: "administrator@vsphere.local", Password: "pa'ss", CAFile: "/state/default/pki/ca.crt"},
			{VCenter: "eu", URL: "https://127.0.0.3:8989/sdk", User: "administrator@vsphere.local", Password: "secret", CAFile: "/state/default/pki/ca.crt"},
		},
		Datastores: datastores(), Volumes: volumes(), NSX: nsxObjects(), Machines: machines(), Balancers: balancers(),
		Events: []api.EventLine{
			{Event: event.Event{Seq: 1, Time: start, Plane: event.PlaneSandbox, Level: event.Info, Kind: "boot.begun", Message: "booting zones-us-eu"}},
			{Event: event.Event{Seq: 40, Time: Now.Add(-90 * time.Second), Plane: event.PlaneVSphere, Level: event.Info, Kind: "vm.powered-off", Object: event.Object{Kind: "VM", VCenter: "eu", Name: "worker-1"}, Message: "powered off"}, Lost: 38},
			{Event: event.Event{Seq: 41, Time: Now.Add(-84 * time.Second), Plane: event.PlaneKubernetes, Level: event.Warning, Kind: "node.not-ready", Object: event.Object{Kind: "Node", Name: "worker-1.example"}, Message: "Ready is Unknown: kubelet stopped posting status", Cause: 40}},
		},
	}
}

// secrets are the passwords of its vCenters.
func (w World) secrets() any {
	var all []string
	for _, a := range w.Access {
		all = append(all, a.Password)
	}
	return all
}
