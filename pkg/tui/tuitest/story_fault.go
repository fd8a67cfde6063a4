package tuitest

import (
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// seconds 20 to 28: a VM is powered off, and what comes of it.
func (s *story) fault() {
	m, v := s.machine("worker-west-1"), s.volumes[0]
	pod := event.Object{Kind: "Pod", Name: "default/web-0"}

	s.to(20000)
	s.step(1, "passed", "")
	s.run.Steps[1].Event = 0
	until := s.at.Add(25 * time.Second)
	s.lease = api.Lease{
		ID: "f1", Fault: "vm.power-off", State: "active", Mode: "one", Seed: 7, Since: s.at, Until: &until, Seq: s.seq + 1,
		Targets: []api.LeaseTarget{{Kind: "VM", VCenter: "us", Name: m.vm.Name, Does: "powers it off", State: "active"}},
	}
	injected := s.sandbox(event.Warning, "fault.injected", vmObject(m), 0, "f1: vm.power-off on us/worker-west-1 for 25s")
	s.tape.lease(s.lease)
	s.step(2, "running", "")
	s.step(2, "passed", "")

	s.to(20020)
	off := s.vsphere(event.Warning, "vm.powered-off", vmObject(m), injected, "powered off")
	s.vsphere(event.Warning, "guest.down", vmObject(m), off, "guest stopped reporting")
	addresses := m.vm.Addresses
	m.vm.Power, m.vm.Tools, m.vm.Hostname, m.vm.Addresses = "off", false, "", nil
	s.tape.vm(&m.vm)
	m.node.Power = "off"
	s.tape.node(&m.node)
	s.to(20040)
	s.down = s.sandbox(event.Info, "child.stopped", nodeObject(m.node.Name), off, "node/worker-west-1: stopped")
	s.tape.component(api.Component{Name: "node/worker-west-1", State: "stopped", Message: "its VM is off"})
	m.vm.Process = "stopped"
	s.tape.vm(&m.vm)
	s.step(3, "running", "ready is True")
	s.to(21000)
	s.called("us", ccm, "WaitForUpdatesEx", 2, 600*time.Millisecond)
	m.vm.Addresses = addresses // as they are when it is on again

	s.to(24750)
	unknown := s.kube(event.Warning, "node.unknown", nodeObject(m.node.Name), s.down, "Ready=Unknown: no heartbeat within the grace period")
	m.node.Ready = "Unknown"
	s.tape.node(&m.node)
	v.Waits = "node " + m.node.Name + " to answer, or else its pods to be evicted"
	s.tape.volume(v)
	s.step(3, "passed", "")
	s.step(4, "running", "taints is []")
	s.to(24760)
	tainted := s.kube(event.Warning, "node.tainted", nodeObject(m.node.Name), unknown, "taint node.kubernetes.io/unreachable")
	m.node.Taints = []string{taintUnreachable, taintUnreachable2}
	s.tape.node(&m.node)
	s.to(25170)
	s.called("us", ccm, "RetrievePropertiesEx", 1, 5*time.Millisecond)
	s.kube(event.Warning, "node.tainted", nodeObject(m.node.Name), unknown, "taint node.cloudprovider.kubernetes.io/shutdown")
	m.node.Taints = []string{taintShutdown, taintUnreachable, taintUnreachable2}
	s.tape.node(&m.node)
	s.step(4, "passed", "")
	s.step(5, "running", "")

	s.to(26770)
	s.evicted = s.kube(event.Warning, "pod.terminating", pod, tainted, "is to end, on node worker-west-1")
	v.State, v.Waits = api.VolumeAttached, "pod default/web-0 is being deleted; pod default/web-0 is still there, and node worker-west-1, which does not answer, cannot say that its containers are gone"
	v.Try = "vsphere-sandbox taint out-of-service worker-west-1, or kubectl delete pod --force -n default web-0 and a wait of 36s"
	s.tape.volume(v)

	s.to(27500)
	deleted := s.kube(event.Info, "pod.deleted", pod, s.evicted, "its object is gone, on node worker-west-1")
	s.step(5, "passed", "")
	s.step(6, "running", "state is attached")
	created := s.kube(event.Info, "pod.created", pod, deleted, "created")
	s.to(27560)
	s.blocked = s.kube(event.Info, "pod.scheduled", pod, created, "on node cp-1")
	s.to(27900)
	s.kube(event.Warning, "pod.failed-attach-volume", pod, s.blocked, `Multi-Attach error for volume "`+v.Name+`" Volume is already exclusively attached to one node and can't be attached to another`)
	v.State, v.Waits = api.VolumeBlocked, "pod default/web-0 wants it on node cp-1; node worker-west-1 does not answer: it is detached by force 36s after that was asked for"
	v.Try = "vsphere-sandbox taint out-of-service worker-west-1"
	s.tape.volume(v)
	s.step(6, "passed", "")
	s.step(7, "running", "ready is Unknown")

	for i := range 8 { // a client looks for it
		s.to(29000 + 2000*i)
		s.called("us", ccm, "WaitForUpdatesEx", 2, time.Second)
		s.called("us", govc, "RetrieveProperties", 3, 6*time.Millisecond)
		s.called("us", csi, "CnsQueryVolume", 1, 11*time.Millisecond)
		s.called("eu", ccm, "WaitForUpdatesEx", 2, time.Second)
	}
}

// seconds 45 to 52: the fault is over, and everything recovers.
func (s *story) heal() {
	m, cp, v := s.machine("worker-west-1"), s.machine("cp-1"), s.volumes[0]
	pod := event.Object{Kind: "Pod", Name: "default/web-0"}

	s.to(45000)
	expired := s.sandbox(event.Info, "fault.expired", vmObject(m), s.lease.Seq, "f1: vm.power-off on us/worker-west-1")
	s.lease.State, s.lease.Targets = "healing", slices.Clone(s.lease.Targets)
	s.tape.lease(s.lease)
	s.to(45030)
	on := s.vsphere(event.Info, "vm.powered-on", vmObject(m), expired, "powered on")
	started := s.sandbox(event.Info, "child.started", nodeObject(m.node.Name), on, "node/worker-west-1: started, pid 4207")
	s.tape.component(api.Component{Name: "node/worker-west-1", State: "running", PID: 4207})
	addresses := m.vm.Addresses
	m.vm.Power, m.vm.Process, m.vm.Addresses = "on", "running", nil
	s.tape.vm(&m.vm)
	m.node.Power = "on"
	s.tape.node(&m.node)
	s.to(45060)
	ended := s.at
	s.lease.State, s.lease.Ended, s.lease.Targets = "healed", &ended, slices.Clone(s.lease.Targets)
	s.lease.Targets[0].State = "healed"
	s.sandbox(event.Info, "fault.healed", vmObject(m), expired, "f1: vm.power-off on us/worker-west-1")
	s.tape.lease(s.lease)

	s.to(46200)
	s.vsphere(event.Info, "guest.up", vmObject(m), on, "guest worker-west-1 is up")
	m.vm.Tools, m.vm.Hostname, m.vm.Addresses = true, m.vm.Name, addresses
	s.tape.vm(&m.vm)
	s.to(46900)
	ready := s.kube(event.Info, "node.ready", nodeObject(m.node.Name), started, "Ready")
	m.node.Ready = "True"
	s.tape.node(&m.node)
	s.to(46930)
	s.kube(event.Info, "node.untainted", nodeObject(m.node.Name), ready, "taint node.kubernetes.io/unreachable is gone")
	m.node.Taints = []string{taintShutdown}
	s.tape.node(&m.node)
	s.to(47100)
	s.kube(event.Info, "node.untainted", nodeObject(m.node.Name), ready, "taint node.cloudprovider.kubernetes.io/shutdown is gone")
	m.node.Taints = nil
	s.tape.node(&m.node)
	s.step(7, "passed", "")
	s.step(8, "running", "state is blocked")

	name := "csi-" + v.Handle[:8] + "-" + m.node.Name
	about := event.Object{Kind: "VolumeAttachment", Name: name}
	s.to(47400)
	detaching := s.kube(event.Info, "attachment.detaching", about, s.evicted, "to be detached")
	s.tape.attachment(api.Attachment{Name: name, Volume: v.Name, Node: m.node.Name, Attached: true, Deleting: true}, false)
	v.State, v.Waits, v.Try = api.VolumeDetaching, "csi-attacher to detach it from node "+m.node.Name, ""
	s.tape.volume(v)
	s.to(47650)
	s.called("us", csi, "CnsDetachVolume", 1, 130*time.Millisecond)
	s.vsphere(event.Info, "volume.detached", event.Object{Kind: "Volume", VCenter: "us", Name: v.Name}, detaching, "from VM worker-west-1; datastore "+v.Datastore)
	m.vm.Disks = slices.DeleteFunc(slices.Clone(m.vm.Disks), func(d api.Disk) bool { return d.Volume == v.Handle })
	s.tape.vm(&m.vm)
	v.VM = ""
	s.tape.volume(v)
	s.to(47700)
	gone := s.kube(event.Info, "attachment.deleted", about, detaching, "detached")
	s.tape.attachment(api.Attachment{Name: name, Volume: v.Name, Node: m.node.Name, Attached: true, Deleting: true}, true)
	attached := s.attach(v, cp, gone, 47900)
	s.to(49300)
	v.State = api.VolumeInUse
	s.tape.volume(v)
	s.kube(event.Info, "pod.running", pod, attached, "runs on node cp-1")
	s.step(8, "passed", "")
	s.to(52000)
	s.run.Steps[0].State, s.run.Steps[0].Message = "passed", ""
	end := s.at
	s.run.State, s.run.Ended = "passed", &end
	s.tape.run(s.run)
}

// second 60: a tag says something else than a label.
func (s *story) tag() {
	m := s.machine("worker-west-1")
	s.to(60000)
	s.called("us", govc, "POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach", 1, 8*time.Millisecond)
	s.vsphere(event.Info, "tag.attached", event.Object{Kind: "Host", VCenter: "us", Name: m.vm.Host}, 0, "tag k8s-zone/us-east attached by administrator@vsphere.local")
	m.vm.Zone = "us-east"
	s.tape.vm(&m.vm)
	s.to(63000)
	s.called("us", ccm, "POST /rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects", 1, 9*time.Millisecond)
}

// seconds 70 to 90: a vCenter is down for ten seconds.
func (s *story) outage() {
	eu := s.vcenters["eu"]
	about := event.Object{Kind: "VCenter", VCenter: "eu", Name: "eu"}

	s.to(70000)
	until := s.at.Add(10 * time.Second)
	s.lease = api.Lease{
		ID: "f2", Fault: "vcenter.down", State: "active", Since: s.at, Until: &until, Seq: s.seq + 1,
		Targets: []api.LeaseTarget{{Kind: "VCenter", VCenter: "eu", Name: "eu", Does: "refuses connections", State: "active"}},
	}
	injected := s.sandbox(event.Warning, "fault.injected", about, 0, "f2: vcenter.down on eu for 10s")
	s.tape.lease(s.lease)
	eu.Gate = "down"
	gate := s.sandbox(event.Warning, "gate.down", about, injected, "vCenter's API was up, is down")
	s.tape.vcenter(*eu)
	s.to(71200)
	s.calledBadly("eu", ccm, "WaitForUpdatesEx", 1, 800*time.Millisecond, 1, "connection refused")
	s.kube(event.Warning, "ccm.vcenter-unreachable", about, gate, "vCenter eu (127.0.0.12): not reachable: connection refused; nodes there are kept as they are")
	for i := range 4 {
		s.to(72000 + 2000*i)
		s.calledBadly("eu", ccm, "Login", 1, time.Millisecond, 1, "connection refused")
		s.calledBadly("eu", csi, "CnsQueryVolume", 1, time.Millisecond, 1, "connection refused")
		s.called("us", ccm, "WaitForUpdatesEx", 2, time.Second)
	}

	s.to(80000)
	expired := s.sandbox(event.Info, "fault.expired", about, s.lease.Seq, "f2: vcenter.down on eu")
	ended := s.at
	s.lease.State, s.lease.Ended, s.lease.Targets = "healed", &ended, slices.Clone(s.lease.Targets)
	s.lease.Targets[0].State = "healed"
	eu.Gate = "up"
	up := s.sandbox(event.Info, "gate.up", about, expired, "vCenter's API was down, is up")
	s.tape.vcenter(*eu)
	s.sandbox(event.Info, "fault.healed", about, expired, "f2: vcenter.down on eu")
	s.tape.lease(s.lease)
	s.to(81000)
	s.called("eu", ccm, "Login", 1, 30*time.Millisecond)
	s.kube(event.Info, "ccm.vcenter-connected", about, up, "vCenter eu (127.0.0.12): connected")
	for i := range 3 {
		s.to(82000 + 2500*i)
		s.called("us", ccm, "WaitForUpdatesEx", 2, time.Second)
		s.called("eu", ccm, "WaitForUpdatesEx", 2, time.Second)
	}
	s.to(int(Length / time.Millisecond))
	s.called("eu", csi, "CnsQueryVolume", 1, 10*time.Millisecond)
}

// renumber gives events their numbers in the order of their lines, and causes those of their causes.
func (t *tape) renumber() {
	to := map[uint64]uint64{}
	n := uint64(0)
	for _, line := range t.lines {
		if line.Event != nil {
			n++
			to[line.Event.Seq] = n
		}
	}
	for _, line := range t.lines {
		if e := line.Event; e != nil {
			e.Seq, e.Cause = to[e.Seq], to[e.Cause]
		}
	}
}
