package storage

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
)

// history logs the changes of claims, attachments and the pods that use them, each with its cause if the objects show
// it. Its methods may be called from any goroutine.
type history struct {
	log    *event.Log
	causes *causality.Finder
	index  *Index

	mu sync.Mutex
	// last is the newest event of each kind about each object.
	last map[string]uint64
}

// note appends an event. Because are the keys of events that may be its cause; the newest of them is.
func (h *history) note(level event.Level, kind string, o event.Object, message string, because ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var cause uint64
	for _, key := range because {
		cause = max(cause, h.last[key])
	}
	h.last[kind+" "+o.Name] = h.log.Append(event.Event{
		Plane: event.PlaneKubernetes, Level: level, Kind: kind, Object: o, Message: message, Cause: cause,
	})
}

// mark stores an event that the history has not logged.
func (h *history) mark(key string, seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[key] = seq
}

// forget removes an object that is gone.
func (h *history) forget(name string, kinds ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, kind := range kinds {
		delete(h.last, kind+" "+name)
	}
}

func (h *history) claim(old, c *corev1.PersistentVolumeClaim, gone bool) {
	o := event.Object{Kind: "PersistentVolumeClaim", Name: c.Namespace + "/" + c.Name}
	bound := func() {
		made := h.vsphere("made "+c.Spec.VolumeName, c.Spec.VolumeName, "volume.created")
		h.note(event.Info, "claim.bound", o, "bound to "+c.Spec.VolumeName, "claim.created "+o.Name, made)
	}
	switch {
	case gone:
		h.note(event.Info, "claim.deleted", o, "deleted")
		h.forget(o.Name, "claim.created", "claim.bound", "claim.resized", "claim.deleted")
		h.forget(c.Spec.VolumeName, "made", "grown")
	case old == nil:
		h.note(event.Info, "claim.created", o, "created")
		if c.Status.Phase == corev1.ClaimBound {
			bound()
		}
	default:
		if old.Status.Phase != c.Status.Phase && c.Status.Phase == corev1.ClaimBound {
			bound()
		}
		was, is := old.Status.Capacity[corev1.ResourceStorage], c.Status.Capacity[corev1.ResourceStorage]
		if !was.IsZero() && !was.Equal(is) {
			grown := h.vsphere("grown "+c.Spec.VolumeName, c.Spec.VolumeName, "volume.extended")
			h.note(event.Info, "claim.resized", o, was.String()+" is "+is.String(), grown)
		}
	}
}

// vsphere stores the last event of vSphere about a volume under a key, and returns the key.
func (h *history) vsphere(key, volume string, kinds ...string) string {
	h.mark(key, h.causes.Newest(kinds, func(e event.Event) bool { return e.Object.Kind == "Volume" && e.Object.Name == volume }))
	return key
}

func (h *history) pod(old, p *corev1.Pod, gone bool) {
	if !slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) {
		return
	}
	o := event.Object{Kind: "Pod", Name: p.Namespace + "/" + p.Name}
	if gone {
		h.note(event.Info, "pod.deleted", o, "its object is gone, on node "+p.Spec.NodeName, "pod.terminating "+o.Name)
		for _, v := range h.index.Volumes(p) {
			h.same("left "+at(v, p.Spec.NodeName), "pod.deleted "+o.Name)
		}
		h.forget(o.Name, "pod.created", "pod.scheduled", "pod.running", "pod.terminating")
		return
	}
	if old == nil {
		old = &corev1.Pod{}
		h.note(event.Info, "pod.created", o, "created", "pod.deleted "+o.Name)
	}
	if old.Spec.NodeName == "" && p.Spec.NodeName != "" {
		h.note(event.Info, "pod.scheduled", o, "on node "+p.Spec.NodeName, h.steps(p, "pod.created "+o.Name)...)
	}
	if old.Status.Phase != corev1.PodRunning && p.Status.Phase == corev1.PodRunning {
		h.note(event.Info, "pod.running", o, "runs on node "+p.Spec.NodeName, h.steps(p, "pod.scheduled "+o.Name)...)
	}
	if old.DeletionTimestamp == nil && p.DeletionTimestamp != nil {
		h.mark("taint "+o.Name, h.causes.OfEviction(p))
		h.note(event.Warning, "pod.terminating", o, "is to end, on node "+p.Spec.NodeName, "taint "+o.Name)
		h.forget(o.Name, "taint")
	}
}

// steps returns the keys of what a pod with volumes waits for besides own: its claims are bound, its volumes attached.
func (h *history) steps(p *corev1.Pod, own string) []string {
	keys := []string{own}
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			keys = append(keys, "claim.bound "+p.Namespace+"/"+v.PersistentVolumeClaim.ClaimName)
		}
		if v.Ephemeral != nil {
			keys = append(keys, "claim.bound "+p.Namespace+"/"+p.Name+"-"+v.Name)
		}
	}
	for _, v := range h.index.Volumes(p) {
		keys = append(keys, "attachment.attached "+at(v, p.Spec.NodeName))
	}
	return keys
}

// at returns the key of a volume on a Node.
func at(volume, node string) string { return volume + " at " + node }

func (h *history) attachment(old, a *storagev1.VolumeAttachment, gone bool) {
	volume := a.Name
	if v := a.Spec.Source.PersistentVolumeName; v != nil {
		volume = *v
	}
	o := event.Object{Kind: "VolumeAttachment", Name: at(volume, a.Spec.NodeName)}
	if gone {
		h.note(event.Info, "attachment.deleted", o, "detached", "attachment.detaching "+o.Name, h.vsphere("gone "+o.Name, volume, "volume.detached"))
		h.forget(o.Name, "attachment.created", "attachment.attached", "attachment.failed", "attachment.detaching", "attachment.deleted", "left", "out", "gone", "come")
		return
	}
	if old == nil {
		old = &storagev1.VolumeAttachment{}
		var because []string
		for _, pod := range h.index.Users(volume, a.Spec.NodeName) {
			because = append(because, "pod.scheduled "+pod)
		}
		h.note(event.Info, "attachment.created", o, "to be attached", because...)
	}
	if !old.Status.Attached && a.Status.Attached {
		h.note(event.Info, "attachment.attached", o, "attached", "attachment.created "+o.Name, h.vsphere("come "+o.Name, volume, "volume.attached"))
	}
	if message := attachmentError(a); message != "" && message != attachmentError(old) {
		h.note(event.Warning, "attachment.failed", o, message, "attachment.created "+o.Name, "attachment.detaching "+o.Name)
	}
	if old.DeletionTimestamp == nil && a.DeletionTimestamp != nil {
		h.mark("out "+o.Name, h.causes.OutOfService(a.Spec.NodeName))
		h.note(event.Info, "attachment.detaching", o, "to be detached", "attachment.attached "+o.Name, "left "+o.Name, "out "+o.Name)
	}
}

// same gives a key the event of another one.
func (h *history) same(key, as string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[key] = h.last[as]
}
