package sandbox

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// diary writes down what becomes of claims, attachments and the pods that use them, each with what it comes from as far
// as the objects tell. Its methods may be called from any goroutine.
type diary struct {
	s  *Sandbox
	mu sync.Mutex
	// last is the newest event of each kind about each object.
	last map[string]uint64
}

func newDiary(s *Sandbox) *diary { return &diary{s: s, last: map[string]uint64{}} }

// note appends an event; because are the keys of events that it may come from, the newest of which it does.
func (d *diary) note(level event.Level, kind string, o event.Object, message string, because ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var cause uint64
	for _, key := range because {
		cause = max(cause, d.last[key])
	}
	d.last[kind+" "+o.Name] = d.s.log.Append(event.Event{
		Plane: event.PlaneKubernetes, Level: level, Kind: kind, Object: o, Message: message, Cause: cause,
	})
}

// mark remembers an event that the diary has not written.
func (d *diary) mark(key string, seq uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[key] = seq
}

// forget drops what is known of an object that is gone.
func (d *diary) forget(name string, kinds ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, kind := range kinds {
		delete(d.last, kind+" "+name)
	}
}

func (d *diary) claim(old, c *corev1.PersistentVolumeClaim, gone bool) {
	o := event.Object{Kind: "PersistentVolumeClaim", Name: c.Namespace + "/" + c.Name}
	bound := func() {
		made := d.vsphere("made "+c.Spec.VolumeName, c.Spec.VolumeName, "volume.created")
		d.note(event.Info, "claim.bound", o, "bound to "+c.Spec.VolumeName, "claim.created "+o.Name, made)
	}
	switch {
	case gone:
		d.note(event.Info, "claim.deleted", o, "deleted")
		d.forget(o.Name, "claim.created", "claim.bound", "claim.resized", "claim.deleted")
		d.forget(c.Spec.VolumeName, "made", "grown")
	case old == nil:
		d.note(event.Info, "claim.created", o, "created")
		if c.Status.Phase == corev1.ClaimBound {
			bound()
		}
	default:
		if old.Status.Phase != c.Status.Phase && c.Status.Phase == corev1.ClaimBound {
			bound()
		}
		was, is := old.Status.Capacity[corev1.ResourceStorage], c.Status.Capacity[corev1.ResourceStorage]
		if !was.IsZero() && !was.Equal(is) {
			grown := d.vsphere("grown "+c.Spec.VolumeName, c.Spec.VolumeName, "volume.extended")
			d.note(event.Info, "claim.resized", o, was.String()+" is "+is.String(), grown)
		}
	}
}

// vsphere remembers under a key what vSphere has last told of a volume, and returns the key.
func (d *diary) vsphere(key, volume string, kinds ...string) string {
	d.mark(key, d.s.causes.Newest(kinds, func(e event.Event) bool { return e.Object.Kind == "Volume" && e.Object.Name == volume }))
	return key
}

func (d *diary) pod(old, p *corev1.Pod, gone bool) {
	if !slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) {
		return
	}
	o := event.Object{Kind: "Pod", Name: p.Namespace + "/" + p.Name}
	if gone {
		d.note(event.Info, "pod.deleted", o, "its object is gone, on node "+p.Spec.NodeName, "pod.terminating "+o.Name)
		for _, v := range d.s.volumeBook().Volumes(p) {
			d.same("left "+at(v, p.Spec.NodeName), "pod.deleted "+o.Name)
		}
		d.forget(o.Name, "pod.created", "pod.scheduled", "pod.running", "pod.terminating")
		return
	}
	if old == nil {
		old = &corev1.Pod{}
		d.note(event.Info, "pod.created", o, "created", "pod.deleted "+o.Name)
	}
	if old.Spec.NodeName == "" && p.Spec.NodeName != "" {
		d.note(event.Info, "pod.scheduled", o, "on node "+p.Spec.NodeName, d.steps(p, "pod.created "+o.Name)...)
	}
	if old.Status.Phase != corev1.PodRunning && p.Status.Phase == corev1.PodRunning {
		d.note(event.Info, "pod.running", o, "runs on node "+p.Spec.NodeName, d.steps(p, "pod.scheduled "+o.Name)...)
	}
	if old.DeletionTimestamp == nil && p.DeletionTimestamp != nil {
		d.mark("taint "+o.Name, d.s.causes.OfEviction(p))
		d.note(event.Warning, "pod.terminating", o, "is to end, on node "+p.Spec.NodeName, "taint "+o.Name)
		d.forget(o.Name, "taint")
	}
}

// steps are the keys of what a pod with volumes comes from, besides own: its claims are bound, its volumes are attached.
func (d *diary) steps(p *corev1.Pod, own string) []string {
	keys := []string{own}
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			keys = append(keys, "claim.bound "+p.Namespace+"/"+v.PersistentVolumeClaim.ClaimName)
		}
		if v.Ephemeral != nil {
			keys = append(keys, "claim.bound "+p.Namespace+"/"+p.Name+"-"+v.Name)
		}
	}
	for _, v := range d.s.volumeBook().Volumes(p) {
		keys = append(keys, "attachment.attached "+at(v, p.Spec.NodeName))
	}
	return keys
}

// at names a volume on a node.
func at(volume, node string) string { return volume + " at " + node }

func (d *diary) attachment(old, a *storagev1.VolumeAttachment, gone bool) {
	volume := a.Name
	if v := a.Spec.Source.PersistentVolumeName; v != nil {
		volume = *v
	}
	o := event.Object{Kind: "VolumeAttachment", Name: at(volume, a.Spec.NodeName)}
	if gone {
		d.note(event.Info, "attachment.deleted", o, "detached", "attachment.detaching "+o.Name, d.vsphere("gone "+o.Name, volume, "volume.detached"))
		d.forget(o.Name, "attachment.created", "attachment.attached", "attachment.failed", "attachment.detaching", "attachment.deleted", "left", "out", "gone", "come")
		return
	}
	if old == nil {
		old = &storagev1.VolumeAttachment{}
		var because []string
		for _, pod := range d.s.volumeBook().Users(volume, a.Spec.NodeName) {
			because = append(because, "pod.scheduled "+pod)
		}
		d.note(event.Info, "attachment.created", o, "to be attached", because...)
	}
	if !old.Status.Attached && a.Status.Attached {
		d.note(event.Info, "attachment.attached", o, "attached", "attachment.created "+o.Name, d.vsphere("come "+o.Name, volume, "volume.attached"))
	}
	if message := attachmentError(a); message != "" && message != attachmentError(old) {
		d.note(event.Warning, "attachment.failed", o, message, "attachment.created "+o.Name, "attachment.detaching "+o.Name)
	}
	if old.DeletionTimestamp == nil && a.DeletionTimestamp != nil {
		d.mark("out "+o.Name, d.s.causes.OutOfService(a.Spec.NodeName))
		d.note(event.Info, "attachment.detaching", o, "to be detached", "attachment.attached "+o.Name, "left "+o.Name, "out "+o.Name)
	}
}

// same gives a key the event of another one.
func (d *diary) same(key, as string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[key] = d.last[as]
}
