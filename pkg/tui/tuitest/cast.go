package tuitest

import (
	"fmt"
	"strings"
	"time"

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
