package tuitest

import (
	"fmt"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

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
