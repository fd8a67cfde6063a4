package explain

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// volume is the case of one that is in use, with changes.
func volume(changes ...func(*Volume)) Volume {
	c := Volume{
		Around: Around{Now: now},
		Row: api.Volume{
			Name: "pvc-1", Claim: "default/data", Handle: "fcd-1", VCenter: "us", Datastore: "ds", VM: "w1", Node: "w1", Attached: true,
			Pods: []string{"default/web"}, State: api.VolumeInUse,
		},
		Node:    &api.Node{Name: "w1", VM: "w1", VCenter: "us", Ready: "True", Power: "on"},
		Drivers: []api.Component{{Name: "csi-attacher", State: "running"}},
	}
	c.Claim.Is = &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
	c.Volume.Is = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-1"}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}}
	c.Attachments.Is = []storagev1.VolumeAttachment{{Spec: storagev1.VolumeAttachmentSpec{NodeName: "w1"}, Status: storagev1.VolumeAttachmentStatus{Attached: true}}}
	c.Pods.Is = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.PodSpec{NodeName: "w1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}}
	c.Disk.Is = &Disk{VCenter: "us", ID: "fcd-1", Datastore: "ds", Health: "green", CapacityBytes: 1 << 30}
	c.Holders.Is = []Holder{{VM: "us/w1", Power: "on"}}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// A pod whose phase is Running may have a container that is not.
func TestWaiting(t *testing.T) {
	pod := func(phase corev1.PodPhase, s ...corev1.ContainerState) corev1.Pod {
		p := corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		for _, state := range s {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "web", State: state})
		}
		return p
	}
	runs, waits := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	for _, tc := range []struct {
		pod  corev1.Pod
		want string
	}{
		{pod(corev1.PodRunning), ""},
		{pod(corev1.PodRunning, runs), ""},
		{pod(corev1.PodPending, waits("ContainerCreating", "")), ""},
		{pod(corev1.PodRunning, runs, waits("CrashLoopBackOff", "back-off 10s")), "container web waits: back-off 10s"},
		{pod(corev1.PodRunning, waits("CreateContainerError", "")), "container web waits: CreateContainerError"},
	} {
		if got := waiting(tc.pod); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.pod.Status, got, tc.want)
		}
	}
}

func TestVolume(t *testing.T) {
	state := func(s api.VolumeState, waits, try string) func(*Volume) {
		return func(c *Volume) { c.Row.State, c.Row.Waits, c.Row.Try = s, waits, try }
	}
	for _, tc := range []struct {
		name      string
		volume    Volume
		ask       string
		level     event.Level
		want, try string
	}{
		{"in use", volume(), "Where is it", event.Info, "on node w1, where default/web runs with it", ""},
		{"attaching", volume(state(api.VolumeAttaching, "csi-attacher", "")), "Why is it attaching", event.Warning, "what it waits for: csi-attacher", ""},
		{"leaving", volume(state(api.VolumeAttached, "pod default/web is being deleted", "")), "What does it wait for", event.Warning, "pod default/web is being deleted", ""},
		{"blocked", volume(state(api.VolumeBlocked, "node w1 to answer", "taint it")), "Why is it blocked", event.Error, "what it waits for: node w1 to answer", "taint it"},
		{"lost", volume(state(api.VolumeLost, "CNS", ""), func(c *Volume) { c.Disk.Is = nil }), "Why is it lost", event.Error, "CNS", ""},
		{"pending", volume(state(api.VolumePending, "the scheduler", ""), func(c *Volume) { c.Volume.Is = nil }), "Why is it pending", event.Warning, "the scheduler", ""},
		{"both agree", volume(), "Do both planes", event.Info, "yes: us/w1", ""},
		{"on no VM", volume(func(c *Volume) { c.Holders.Is = nil }), "Do both planes", event.Error, "no VM has its disk", ""},
		{"on another VM", volume(func(c *Volume) { c.Holders.Is[0].VM = "us/w2" }), "Do both planes", event.Error, "VM us/w2 has its disk", ""},
		{"on two VMs", volume(func(c *Volume) { c.Holders.Is = append(c.Holders.Is, Holder{VM: "us/w2"}) }), "Do both planes", event.Error, "two VMs have its disk", ""},
		{"on its way off", volume(state(api.VolumeDetaching, "", ""), func(c *Volume) { c.Holders.Is = nil }), "Do both planes", event.Info, "yes: on its way", ""},
		{"on two nodes", volume(func(c *Volume) {
			again := c.Attachments.Is[0]
			again.Spec.NodeName = "w2"
			c.Attachments.Is = append(c.Attachments.Is, again)
		}), "Do both planes", event.Warning, "attached to nodes w1 and w2, and only VM us/w1 has its disk", ""},
		{"wanted elsewhere", volume(func(c *Volume) { c.Node = &api.Node{Name: "w2", VM: "w2", VCenter: "us"} }), "Do both planes", event.Info, "it is attached to node w1, and VM us/w1 has its disk", ""},
		{"no node", volume(func(c *Volume) { c.Node = nil }), "Do both planes", event.Info, "it is attached to node w1, and VM us/w1 has its disk", ""},
		{"behind Kubernetes' back", volume(state(api.VolumeDetached, "", ""), func(c *Volume) { c.Attachments.Is = nil }), "Do both planes", event.Warning, "attached to no node", ""},
		{"attacher paused", volume(func(c *Volume) { c.Drivers[0].State = "suspended" }), "Does what moves", event.Error, "csi-attacher is suspended", "status"},
		{"webhook away", volume(func(c *Volume) { c.Drivers[0].Name, c.Drivers[0].Health = "csi-webhook", "does not answer within 2s" }), "Does what moves", event.Error, "csi-webhook is running, does not answer within 2s", "status"},
		{"a fault", volume(func(c *Volume) {
			c.Leases = []api.Lease{{ID: "f1", Fault: "volume.attach-fails", State: "active", Targets: []api.LeaseTarget{{Kind: "Volume", Name: "pvc-1"}}}}
		}), "Which faults", event.Warning, "volume.attach-fails", "heal f1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, q := range tc.volume.Explain().Questions {
				if !strings.HasPrefix(q.Ask, tc.ask) {
					continue
				}
				if q.Level != tc.level || !strings.Contains(q.Answer, tc.want) || !strings.Contains(q.Try, tc.try) {
					t.Errorf("%s %q, try %q; want %s %q, try %q", q.Level, q.Answer, q.Try, tc.level, tc.want, tc.try)
				}
				return
			}
			t.Errorf("no question %q", tc.ask)
		})
	}
}

// What cannot be asked is unknown, and no answer rests on it.
func TestVolumeUnasked(t *testing.T) {
	c := volume(func(c *Volume) { c.Attachments.Err, c.Disk.Err, c.Holders.Err = errOut, errOut, errOut })
	for _, q := range c.Explain().Questions {
		if strings.HasPrefix(q.Ask, "Do both planes") {
			t.Errorf("%+v", q)
		}
	}
	if n := len(slices.DeleteFunc(c.state().Evidence, func(e api.Evidence) bool { return e.Verdict != unknown })); n != 3 {
		t.Errorf("%d unknown, want 3", n)
	}
}

// An event of the volume is reported with its cause, which may be about any object.
func TestHistory(t *testing.T) {
	all := []event.Event{
		{Seq: 1, Kind: "vm.powered-off", Object: event.Object{Kind: "VM", Name: "w1"}},
		{Seq: 2, Kind: "node.tainted", Object: event.Object{Kind: "Node", Name: "w1"}, Cause: 1},
		{Seq: 3, Kind: "vm.powered-off", Object: event.Object{Kind: "VM", Name: "w2"}},
		{Seq: 4, Kind: "pod.terminating", Object: event.Object{Kind: "Pod", Name: "default/web"}, Cause: 2},
		{Seq: 5, Kind: "pod.running", Object: event.Object{Kind: "Pod", Name: "default/other"}},
		{Seq: 6, Kind: "attachment.deleted", Object: event.Object{Kind: "VolumeAttachment", Name: "pvc-1 at w1"}},
		{Seq: 7, Kind: "attachment.deleted", Object: event.Object{Kind: "VolumeAttachment", Name: "pvc-12 at w1"}},
		{Seq: 8, Kind: "volume.created", Object: event.Object{Kind: "Volume"}},
	}
	var seqs []uint64
	for _, e := range History(all, ofVolume(volume().Row)) {
		seqs = append(seqs, e.Seq)
	}
	if !slices.Equal(seqs, []uint64{1, 2, 4, 6}) {
		t.Errorf("got %v", seqs)
	}
	if all[1].Seq != 2 {
		t.Error("the log was changed")
	}
}

// A chain ends where the log has forgotten, and where an event names itself.
func TestChain(t *testing.T) {
	a := Around{Now: now, Events: timeline(
		event.Event{Kind: "a", Message: "A"}, event.Event{Kind: "b", Message: "B", Cause: 1}, event.Event{Kind: "c", Message: "C", Cause: 2},
		event.Event{Kind: "d", Message: "D", Cause: 4}, event.Event{Kind: "e", Message: "E", Cause: 99},
	)}
	for seq, want := range map[uint64]string{1: "A", 3: "a (A) → b +1s → c +1s", 4: "D", 5: "E"} {
		e, _ := a.find(seq)
		if got := a.path(e); got != want {
			t.Errorf("#%d: %q, want %q", seq, got, want)
		}
	}
	a.Events = a.Events[1:]
	if e, _ := a.find(3); a.path(e) != "b (B) → c +1s" {
		t.Error(a.path(e))
	}
}
