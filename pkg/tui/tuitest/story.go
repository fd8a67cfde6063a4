package tuitest

import (
	"slices"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// The taints of the story, as rows have them.
const (
	taintUninitialized = "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"
	taintNotReady      = "node.kubernetes.io/not-ready:NoSchedule"
	taintUnreachable   = "node.kubernetes.io/unreachable:NoExecute"
	taintUnreachable2  = "node.kubernetes.io/unreachable:NoSchedule"
	taintShutdown      = "node.cloudprovider.kubernetes.io/shutdown:NoSchedule"
)

// The clients that call vCenters.
const (
	ccm  = "vsphere-cloud-provider"
	csi  = "vsphere-csi-controller"
	govc = "govc/0.53.0"
)

// Story returns the lines of a recording of it, new at each call.
func Story() []api.Recorded {
	s := &story{tape: &tape{calls: map[[3]string]api.Calls{}}, cast: newCast()}
	s.boot()
	s.claims()
	s.fault()
	s.heal()
	s.tag()
	s.outage()
	return s.lines
}

// story is the tape and who is on it.
type story struct {
	*tape
	*cast
	run     api.Run
	lease   api.Lease
	down    uint64 // child.stopped of the node
	evicted uint64 // pod.terminating
	blocked uint64 // pod.scheduled of its successor
}

func vmObject(m *machine) event.Object {
	return event.Object{Kind: "VM", VCenter: m.vm.VCenter, Name: m.vm.Name}
}

func nodeObject(name string) event.Object { return event.Object{Kind: "Node", Name: name} }

func component(name string) event.Object { return event.Object{Kind: "Component", Name: name} }

// seconds 0 to 9: everything comes up.
func (s *story) boot() {
	s.to(0)
	s.sandbox(event.Info, "boot.begun", event.Object{}, 0, "booting zones-us-eu")
	s.report(api.Update{Synced: true})

	s.to(300)
	s.tape.component(api.Component{Name: "control-plane", State: "running", PID: 4101})
	s.sandbox(event.Info, "child.started", component("control-plane"), 0, "control-plane: started, pid 4101")

	s.to(800)
	for _, name := range []string{"us", "eu"} {
		s.tape.vcenter(*s.vcenters[name])
	}
	s.sandbox(event.Info, "boot.step", event.Object{}, 0, "vCenters: up in 212ms")
	for _, h := range s.hosts {
		s.report(api.Update{Host: &h})
	}
	for _, m := range s.machines {
		off := m.vm
		off.Power, off.Tools, off.Hostname, off.Addresses, off.Process = "off", false, "", nil, "stopped"
		s.tape.vm(&off)
		s.tape.node(&api.Node{Name: m.node.Name, VM: m.vm.Name, VCenter: m.vm.VCenter, Datacenter: m.vm.Datacenter, Power: "off"})
	}

	s.to(2000)
	pid := 4110
	for _, name := range []string{"ccm", "csi-controller", "csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller"} {
		c := api.Component{Name: name, State: "running", PID: pid}
		if name == "ccm" {
			c.Source, c.Version, c.Health, c.Leader = "builtin", "v0.1.0", "healthy", true
		}
		s.tape.component(c)
		s.sandbox(event.Info, "child.started", component(name), 0, name+": started, pid "+strconv.Itoa(pid))
		pid++
	}
	for _, vc := range []string{"us", "eu"} {
		s.called(vc, ccm, "Login", 1, 31*time.Millisecond)
		s.called(vc, ccm, "CreatePropertyCollector", 1, 2*time.Millisecond)
		s.called(vc, ccm, "WaitForUpdatesEx", 4, 240*time.Millisecond)
		s.called(vc, csi, "Login", 1, 28*time.Millisecond)
	}

	started := map[string]uint64{}
	for i, m := range s.machines {
		s.to(2500 + 60*i)
		on := s.vsphere(event.Info, "vm.powered-on", vmObject(m), 0, "powered on")
		started[m.vm.Name] = s.sandbox(event.Info, "child.started", nodeObject(m.vm.Name), on, "node/"+m.vm.Name+": started, pid "+strconv.Itoa(4120+i))
		s.tape.component(api.Component{Name: "node/" + m.vm.Name, State: "running", PID: 4120 + i})
	}
	for i, m := range s.machines {
		s.to(3600 + 50*i)
		s.vsphere(event.Info, "guest.up", vmObject(m), 0, "guest "+m.vm.Hostname+" is up")
		s.tape.vm(&m.vm)
	}
	for i, m := range s.machines {
		s.to(4000 + 80*i)
		fresh := m.node
		fresh.Ready, fresh.Initialized, fresh.Region, fresh.Zone, fresh.ProviderID, fresh.InstanceType, fresh.Addresses = "False", false, "", "", "", "", nil
		fresh.Labels = map[string]string{"kubernetes.io/hostname": m.node.Name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
		fresh.Taints = append([]string{taintUninitialized, taintNotReady}, m.node.Taints...)
		s.tape.node(&fresh)
		up := s.kube(event.Info, "node.registered", nodeObject(m.node.Name), started[m.vm.Name], "registered, node.cloudprovider.kubernetes.io/uninitialized, node.kubernetes.io/not-ready")

		s.to(5200 + 80*i)
		s.kube(event.Info, "node.ready", nodeObject(m.node.Name), started[m.vm.Name], "Ready")
		id := s.kube(event.Info, "node.provider-id", nodeObject(m.node.Name), up, "providerID "+m.node.ProviderID)
		s.kube(event.Info, "node.labelled", nodeObject(m.node.Name), up, "topology.kubernetes.io/region="+m.node.Region)
		s.kube(event.Info, "node.labelled", nodeObject(m.node.Name), up, "topology.kubernetes.io/zone="+m.node.Zone)
		s.kube(event.Info, "node.untainted", nodeObject(m.node.Name), id, "taint node.cloudprovider.kubernetes.io/uninitialized is gone")
		s.tape.node(&m.node)
		s.to(7000 + 40*i)
		s.kube(event.Info, "node.csi-registered", nodeObject(m.node.Name), started[m.vm.Name], "its CSI node service is registered")
	}
	slices.SortStableFunc(s.lines, func(a, b api.Recorded) int { return a.Time.Compare(b.Time) })
	s.renumber()

	s.to(8000)
	for _, vc := range []string{"us", "eu"} {
		s.called(vc, ccm, "WaitForUpdatesEx", 3, 900*time.Millisecond)
		s.called(vc, ccm, "POST /rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects", 2, 9*time.Millisecond)
		s.called(vc, csi, "RetrievePropertiesEx", 6, 4*time.Millisecond)
	}
	s.to(9000)
	s.sandbox(event.Info, "sandbox.ready", event.Object{}, 0, "ready in 9s")
}

// seconds 10 to 15: a StatefulSet gets its volumes, and a scenario begins.
func (s *story) claims() {
	for i, v := range s.volumes {
		m := s.machine([]string{"worker-west-1", "worker-east-1", "worker-eu-1"}[i])
		pod := event.Object{Kind: "Pod", Name: "default/web-" + strconv.Itoa(i)}
		claim := event.Object{Kind: "PersistentVolumeClaim", Name: v.Claim}

		s.to(10000 + 1300*i)
		made := s.kube(event.Info, "claim.created", claim, 0, "created")
		s.kube(event.Info, "pod.created", pod, 0, "created")
		s.tape.volume(&api.Volume{
			Name: v.Claim, Phase: "Pending", Claim: v.Claim, StorageClass: "vsphere", CapacityBytes: v.CapacityBytes, Pods: []string{pod.Name},
			State: api.VolumePending, Waits: "csi-provisioner, for node " + m.node.Name,
		})

		s.to(10250 + 1300*i)
		s.called(v.VCenter, csi, "CnsCreateVolume", 1, 140*time.Millisecond)
		there := s.vsphere(event.Info, "volume.created", event.Object{Kind: "Volume", VCenter: v.VCenter, Name: v.Name}, made, "made on datastore "+v.Datastore+": 1.0 GiB, id "+v.Handle)
		s.report(api.Update{Volume: &api.Volume{Name: v.Claim, Claim: v.Claim}, Deleted: true})
		v.Pods = []string{pod.Name}
		s.tape.volume(v)
		bound := s.kube(event.Info, "claim.bound", claim, there, "volume "+v.Name)
		sched := s.kube(event.Info, "pod.scheduled", pod, bound, "on node "+m.node.Name)
		attached := s.attach(v, m, sched, 10400+1300*i)

		s.to(11000 + 1300*i)
		v.State = api.VolumeInUse
		s.tape.volume(v)
		s.kube(event.Info, "pod.running", pod, attached, "runs on node "+m.node.Name)
	}

	s.to(15000)
	s.run = api.Run{
		Name: "off-for-a-while", File: "off-for-a-while.yaml", Description: "a VM with a volume is off for 25 s, and its pod moves to another node",
		State: "running", Began: s.at, Number: 1, Of: 1,
		Steps: []api.RunStep{
			{Text: "never event: kind is node.deleted", State: "running", Message: "until end"},
			{Text: "wait 5s", State: "running"},
			{Text: "inject vm.power-off on worker-west-1 for 25s", State: "pending"},
			{Text: "expect node worker-west-1: ready is Unknown", State: "pending"},
			{Text: "expect node worker-west-1: taints has node.cloudprovider.kubernetes.io/shutdown", State: "pending"},
			{Text: "run kubectl delete pod --force web-0", State: "pending"},
			{Text: "expect volume data-web-0: state is blocked", State: "pending"},
			{Text: "expect node worker-west-1: ready is True, taints is []", State: "pending"},
			{Text: "expect volume data-web-0: state is in-use, node is cp-1", State: "pending"},
		},
	}
	s.step(0, "running", "until end")
	s.step(1, "running", "")
}

// attach attaches a volume to a node within some milliseconds, and returns the event by which it is.
func (s *story) attach(v *api.Volume, m *machine, cause uint64, ms int) uint64 {
	name := "csi-" + v.Handle[:8] + "-" + m.node.Name
	about := event.Object{Kind: "VolumeAttachment", Name: name}
	s.to(ms)
	v.State, v.Node, v.Attached, v.Waits = api.VolumeAttaching, m.node.Name, false, "csi-attacher to attach it to node "+m.node.Name
	s.tape.attachment(api.Attachment{Name: name, Volume: v.Name, Node: m.node.Name}, false)
	s.tape.volume(v)
	asked := s.kube(event.Info, "attachment.created", about, cause, "to be attached")
	s.to(ms + 210)
	s.called(v.VCenter, csi, "CnsAttachVolume", 1, 120*time.Millisecond)
	s.vsphere(event.Info, "volume.attached", event.Object{Kind: "Volume", VCenter: v.VCenter, Name: v.Name}, asked, "on VM "+m.vm.Name+", controller 0, unit 1; datastore "+v.Datastore)
	m.vm.Disks = append(slices.Clone(m.vm.Disks), disk(v))
	s.tape.vm(&m.vm)
	v.VM = m.vm.Name
	s.tape.volume(v)
	s.to(ms + 260)
	v.State, v.Attached, v.Waits = api.VolumeAttached, true, "the kubelet of "+m.node.Name+" to mount it for pod "+v.Pods[0]
	s.tape.attachment(api.Attachment{Name: name, Volume: v.Name, Node: m.node.Name, Attached: true}, false)
	s.tape.volume(v)
	seq := s.kube(event.Info, "attachment.attached", about, asked, "attached")
	v.Waits = ""
	return seq
}

// step changes the state of a step of the scenario; it is not sent before the step runs.
func (s *story) step(i int, state, message string) {
	st := &s.run.Steps[i]
	if began := s.at; st.Began == nil {
		st.Began = &began
	} else if state != "running" {
		st.Took = api.Duration(s.at.Sub(*st.Began))
	}
	st.State, st.Message = state, message
	if state == "passed" {
		st.Event = s.seq
	}
	s.tape.run(s.run)
}
