package tuitest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// Began is when the story begins.
var Began = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// Length is how long the story is.
const Length = 90 * time.Second

// About is what the story is of.
func About() fold.About {
	return fold.About{
		APIVersion: api.RecordingVersion, Kind: api.RecordingKind,
		Sandbox: "zones-us-eu", Topology: "zones-us-eu", Speed: 10, StartedAt: Began,
		Version: "v0.1.0", KubernetesVersion: "v1.36.4", Began: Began,
	}
}

// machine is a VM of the cast and its node.
type machine struct {
	vm   api.VM
	node api.Node
}

// cast is who plays in the story.
type cast struct {
	vcenters map[string]*api.VCenter
	hosts    []api.Host
	machines []*machine
	volumes  []*api.Volume
}

func (c *cast) machine(name string) *machine {
	for _, m := range c.machines {
		if m.vm.Name == name {
			return m
		}
	}
	return nil
}

// place is where things are, and how it is labeled.
type place struct{ vcenter, datacenter, cluster, region, zone string }

var (
	west = place{"us", "dcwest", "west", "us", "us-west"}
	east = place{"us", "dceast", "east", "us", "us-east"}
	all  = place{"eu", "dceu", "eu", "eu", "eu-all"}
)

func newCast() *cast {
	c := &cast{vcenters: map[string]*api.VCenter{
		"us": vcenter("us", 2, 4), "eu": vcenter("eu", 1, 2),
	}}
	for _, p := range []place{west, east, all} {
		for n := 1; n <= 2; n++ {
			c.hosts = append(c.hosts, api.Host{
				Name: fmt.Sprintf("esx-%s-%d", p.cluster, n), VCenter: p.vcenter, Datacenter: p.datacenter, Cluster: p.cluster,
				Connection: "connected", Power: "on", CPUs: 16, MemoryBytes: 64 << 30, VMs: 1,
			})
		}
	}
	for i, m := range []struct {
		name  string
		at    place
		host  int
		moref string
		uuid  string
	}{
		{"cp-1", west, 1, "vm-61", "bb85fec6-3cac-5e26-8040-b89a5d55f30c"},
		{"worker-west-1", west, 2, "vm-62", "3cb28435-2e58-5dc0-949a-68a429bf0228"},
		{"worker-east-1", east, 1, "vm-63", "0d8cf37e-5a0b-5c4f-8a53-1b7c29e6f1a4"},
		{"worker-east-2", east, 2, "vm-64", "7be1a4c0-91d2-5f7e-9c16-52f0ad3c8e77"},
		{"worker-eu-1", all, 1, "vm-61", "c19e02ab-6f45-5b83-a7d4-f3918be0625d"},
		{"worker-eu-2", all, 2, "vm-62", "58a3d7f2-04bc-5e19-8f2b-6ec47a91d03b"},
	} {
		role := "worker"
		if i == 0 {
			role = "control-plane"
		}
		c.machines = append(c.machines, newMachine(m.name, role, m.at, fmt.Sprintf("esx-%s-%d", m.at.cluster, m.host), m.moref, m.uuid, fmt.Sprintf("198.18.0.%d", 11+i)))
	}
	for i, v := range []struct{ name, handle, machine, store string }{
		{"pvc-1f6b3c52-7c0e-4f0a-9d43-0a6c1c1f7b10", "4b0c9a1e-2d53-4c8e-b1d7-5f8e9a3c6d20", "worker-west-1", "local-west"},
		{"pvc-2a7c4d63-8d1f-4a1b-8e54-1b7d2d2a8c21", "5c1d0b2f-3e64-4d9f-82e8-6a9f0b4d7e31", "worker-east-1", "local-east"},
		{"pvc-3b8d5e74-9e2a-4b2c-9f65-2c8e3e3b9d32", "6d2e1c30-4f75-4ea0-93f9-7ba01c5e8f42", "worker-eu-1", "local-eu"},
	} {
		claim := fmt.Sprintf("default/data-web-%d", i)
		c.volumes = append(c.volumes, &api.Volume{
			Name: v.name, Phase: "Bound", Claim: claim, Driver: "csi.vsphere.vmware.com", Handle: v.handle, StorageClass: "vsphere",
			CapacityBytes: 1 << 30, VCenter: c.machine(v.machine).vm.VCenter, Datastore: v.store, State: api.VolumeDetached,
		})
	}
	return c
}

func vcenter(name string, datacenters, hosts int) *api.VCenter {
	last := map[string]int{"us": 11, "eu": 12}[name]
	return &api.VCenter{
		Name: name, URL: fmt.Sprintf("https://127.0.0.%d:8989/sdk", last), User: "administrator@vsphere.local",
		InstanceUUID: fmt.Sprintf("a5e3b9d0-77c1-5a3e-8f10-0000000000%d", last), Version: "8.0.3",
		Gate: "up", Watched: true, Datacenters: datacenters, Hosts: hosts, VMs: 1,
	}
}

// newMachine is a VM that runs, and its node as it is when all is well.
func newMachine(name, role string, at place, host, moref, uuid, address string) *machine {
	m := &machine{
		vm: api.VM{
			Name: name, VCenter: at.vcenter, Datacenter: at.datacenter, Cluster: at.cluster, Host: host,
			Path: "/" + at.datacenter + "/vm/" + name, MoRef: moref, UUID: uuid, Power: "on", Connection: "connected", Tools: true,
			Hostname: name, Addresses: []string{address}, CPUs: 2, MemoryBytes: 4 << 30, GuestID: "ubuntu64Guest",
			Region: at.region, Zone: at.zone, Role: role, Process: "running",
			Disks: []api.Disk{{
				UUID: "6000c29" + uuid[:1] + "-" + strings.ToLower(uuid[9:]), Bytes: 32 << 30, File: "[local-" + at.cluster + "] " + name + "/" + name + ".vmdk",
			}},
		},
		node: api.Node{
			Pods: 1,
			Name: name, VM: name, VCenter: at.vcenter, Datacenter: at.datacenter, Power: "on", Registered: true, Ready: "True", Initialized: true,
			Region: at.region, Zone: at.zone, ProviderID: "vsphere://" + uuid, InstanceType: "vsphere-vm.cpu-2.mem-4gb.os-ubuntu",
			Addresses: []string{address}, Version: "v1.36.4", Created: Began.Add(4 * time.Second),
			Labels: map[string]string{
				"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
				"node.kubernetes.io/instance-type":   "vsphere-vm.cpu-2.mem-4gb.os-ubuntu",
				"topology.kubernetes.io/region":      at.region,
				"topology.kubernetes.io/zone":        at.zone,
				"topology.csi.vmware.com/k8s-region": at.region,
				"topology.csi.vmware.com/k8s-zone":   at.zone,
			},
		},
	}
	if role == "control-plane" {
		m.node.Roles = []string{"control-plane"}
		m.node.Taints = []string{"node-role.kubernetes.io/control-plane:NoSchedule"}
		m.node.Labels["node-role.kubernetes.io/control-plane"] = ""
	}
	return m
}

// disk is that of a volume, as the VM that has it shows it.
func disk(v *api.Volume) api.Disk {
	return api.Disk{
		UUID: "6000c29f-" + v.Handle[9:], Volume: v.Handle, Bytes: v.CapacityBytes,
		File: "[" + v.Datastore + "] fcd/" + strings.ReplaceAll(v.Handle, "-", "") + ".vmdk", Unit: 1,
	}
}

// BigEvents is how many events a [Big] state has.
const BigEvents = 20000

// Big is the state of a sandbox of n nodes: two vCenters, five datacenters, hosts of 20 VMs, three volumes for every ten
// nodes. Of 50 nodes one is NotReady with its VM off; of 97 one is Ready although its VM is off; of 113 one is labeled
// other than its tags say. It is ten minutes after [Began].
func Big(n int) *fold.State {
	about := About()
	about.Sandbox, about.Topology = "big", "big"
	s := fold.New(about, 0)
	s.Apply(Began, bigRows(n)...)
	s.Apply(Began.Add(10*time.Minute), bigEvents(n)...)
	return s
}

var bigPlaces = []place{
	{"us", "dcwest", "west", "us", "us-west"},
	{"us", "dceast", "east", "us", "us-east"},
	{"us", "dcsouth", "south", "us", "us-south"},
	{"eu", "dceu", "eu", "eu", "eu-all"},
	{"eu", "dcnorth", "north", "eu", "eu-north"},
}

// bigMachine is the i-th machine.
func bigMachine(i int) *machine {
	at := bigPlaces[i%len(bigPlaces)]
	m := newMachine(
		fmt.Sprintf("worker-%s-%04d", at.cluster, i), "worker", at, fmt.Sprintf("esx-%s-%03d", at.cluster, i/len(bigPlaces)/20),
		fmt.Sprintf("vm-%d", 1000+i), fmt.Sprintf("%08x-0000-5000-8000-%012x", i+1, i+1), fmt.Sprintf("198.18.%d.%d", i/250, 1+i%250),
	)
	if i%50 == 7 {
		m.node.Ready, m.node.Taints = "Unknown", []string{taintShutdown, taintUnreachable, taintUnreachable2}
	}
	if i%50 == 7 || i%97 == 11 {
		m.vm.Power, m.vm.Tools, m.vm.Process, m.node.Power = "off", false, "stopped", "off"
	}
	if i%113 == 13 {
		m.vm.Zone = "elsewhere"
	}
	return m
}

func bigRows(n int) []api.Update {
	var rows []api.Update
	hosts := map[string]*api.Host{}
	var order []string
	for i := range n {
		m := bigMachine(i)
		if i%10 < 3 {
			claim := fmt.Sprintf("default/data-web-%d", i)
			v := &api.Volume{
				Name: fmt.Sprintf("pvc-%08x-0000-4000-8000-000000000000", i), Phase: "Bound", Claim: claim, Driver: "csi.vsphere.vmware.com",
				Handle: fmt.Sprintf("%08x-0000-4000-9000-000000000000", i), StorageClass: "vsphere", CapacityBytes: 1 << 30, VCenter: m.vm.VCenter,
				Datastore: "local-" + m.vm.Cluster, VM: m.vm.Name, Node: m.node.Name, Attached: true, Pods: []string{fmt.Sprintf("default/web-%d", i)}, State: api.VolumeInUse,
			}
			m.vm.Disks = append(m.vm.Disks, disk(v))
			rows = append(rows, api.Update{Volume: v}, api.Update{Attachment: &api.Attachment{Name: fmt.Sprintf("csi-%08x", i), Volume: v.Name, Node: m.node.Name, Attached: true}})
		}
		rows = append(rows, api.Update{VM: &m.vm}, api.Update{Node: &m.node}, api.Update{Component: &api.Component{
			Name: "node/" + m.node.Name, State: map[string]string{"on": "running", "off": "stopped"}[m.vm.Power], PID: 10000 + i, Since: Began,
		}})
		key := m.vm.VCenter + "/" + m.vm.Host
		if hosts[key] == nil {
			order = append(order, key)
			hosts[key] = &api.Host{
				Name: m.vm.Host, VCenter: m.vm.VCenter, Datacenter: m.vm.Datacenter, Cluster: m.vm.Cluster, Connection: "connected", Power: "on", CPUs: 64, MemoryBytes: 512 << 30,
			}
		}
		hosts[key].VMs++
	}
	for _, key := range order {
		rows = append(rows, api.Update{Host: hosts[key]})
	}
	for _, name := range []string{"us", "eu"} {
		rows = append(rows, api.Update{VCenter: vcenter(name, 3, len(order)/2)})
		for _, client := range []string{ccm, csi, govc} {
			for _, method := range []string{"CnsQueryVolume", "Login", "RetrievePropertiesEx", "WaitForUpdatesEx"} {
				rows = append(rows, api.Update{Calls: &api.Calls{VCenter: name, Client: client, Method: method, Calls: 1000, Errors: 3, Latency: api.Duration(7 * time.Second), Last: Began}})
			}
		}
	}
	for _, name := range []string{"control-plane", "ccm", "csi-controller", "csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller"} {
		rows = append(rows, api.Update{Component: &api.Component{Name: name, State: "running", PID: 4000, Since: Began}})
	}
	return append(rows, api.Update{Synced: true})
}

// bigEvents is the chain of a VM that is powered off and on again, over and over.
func bigEvents(n int) []api.Update {
	chain := []struct {
		plane event.Plane
		level event.Level
		kind  string
		text  string
	}{
		{event.PlaneSandbox, event.Warning, "fault.injected", "f1: vm.power-off on %s"},
		{event.PlaneVSphere, event.Warning, "vm.powered-off", "powered off"},
		{event.PlaneSandbox, event.Info, "child.stopped", "node/%s: stopped"},
		{event.PlaneKubernetes, event.Warning, "node.unknown", "Ready=Unknown: no heartbeat within the grace period"},
		{event.PlaneKubernetes, event.Warning, "node.tainted", "taint node.kubernetes.io/unreachable"},
		{event.PlaneVSphere, event.Info, "vm.powered-on", "powered on"},
		{event.PlaneSandbox, event.Info, "child.started", "node/%s: started, pid 4711"},
		{event.PlaneKubernetes, event.Info, "node.ready", "Ready"},
	}
	updates := make([]api.Update, BigEvents)
	for i := range updates {
		about, c := bigMachine(i/len(chain)%n), chain[i%len(chain)]
		e := event.Event{
			Seq: uint64(i + 1), Time: Began.Add(time.Duration(i) * 30 * time.Millisecond), Plane: c.plane, Level: c.level, Kind: c.kind, Message: c.text,
			Object: nodeObject(about.node.Name),
		}
		if i%len(chain) != 0 {
			e.Cause = e.Seq - 1
		}
		if slices.Contains([]string{"fault.injected", "vm.powered-off", "vm.powered-on"}, c.kind) {
			e.Object = vmObject(about)
		}
		if slices.Contains([]string{"fault.injected", "child.stopped", "child.started"}, c.kind) {
			e.Message = fmt.Sprintf(c.text, about.node.Name)
		}
		updates[i] = api.Update{Event: &e}
	}
	return updates
}
