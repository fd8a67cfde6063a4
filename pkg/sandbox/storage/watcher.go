package storage

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// Cache receives the rows of the watcher.
type Cache interface {
	SetVolume(row api.Volume, gone bool)
	SetAttachment(row api.Attachment, gone bool)
	SetPod(p *corev1.Pod, gone bool)
}

// Guest knows the volumes of a Supervisor's claims.
type Guest interface {
	// VolumeOf returns the id in vSphere of the volume of a claim, ClaimOf the claim of a volume; "" for none.
	VolumeOf(claim string) (id string)
	ClaimOf(id string) (claim string)
}

// Watcher follows the volumes of a sandbox on both planes: it keeps an [Index] of them, and logs the changes of claims, of
// attachments and of the pods that use them. Its methods may be called from any goroutine.
type Watcher struct {
	Log      *event.Log
	Causes   *causality.Finder
	Cache    Cache
	VCenters func() vcenters.List
	Nodes    func() []api.Node
	// Guest translates the volumes of a guest cluster; nil without a Supervisor.
	Guest Guest
	// ForceDetach is how long the attach-detach controller waits for a node that does not answer.
	ForceDetach time.Duration
	// Allow returns why an action on a volume is refused, nil when it is not.
	Allow func(*vcenters.VCenter, api.Volume, api.VolumeRequest) error

	mu    sync.Mutex
	index *Index // nil before Watch
	// disks are the volumes that each VM has.
	disks map[world.VMKey][]string
	// warnings are the newest message of each kind about each object.
	warnings map[string]string
}

// Watch starts to follow the objects of a cluster.
func (w *Watcher) Watch(factory informers.SharedInformerFactory) error {
	classes := factory.Storage().V1().StorageClasses()
	b := New(Sources{
		Disk: w.disk,
		Node: func(name string) (api.Node, bool) {
			nodes := w.Nodes()
			if i := slices.IndexFunc(nodes, func(n api.Node) bool { return n.Name == name && n.Registered }); i >= 0 {
				return nodes[i], true
			}
			return api.Node{}, false
		},
		Class: func(name string) (mode storagev1.VolumeBindingMode, ok bool) {
			class, err := classes.Lister().Get(name)
			if err != nil {
				return "", false
			}
			if class.VolumeBindingMode != nil {
				mode = *class.VolumeBindingMode
			}
			return mode, true
		},
		ForceDetach: w.ForceDetach,
		Changed:     w.Cache.SetVolume,
	})
	w.mu.Lock()
	w.index = b
	w.mu.Unlock()
	core, h := factory.Core().V1(), &history{log: w.Log, causes: w.Causes, index: b, last: map[string]uint64{}}
	return cmp.Or(
		Follow(core.PersistentVolumeClaims().Informer(), func(old, c *corev1.PersistentVolumeClaim, gone bool) {
			b.Claim(c, gone)
			h.claim(old, c, gone)
		}),
		Follow(core.PersistentVolumes().Informer(), func(_, v *corev1.PersistentVolume, gone bool) { b.Volume(v, gone) }),
		Follow(core.Pods().Informer(), func(old, p *corev1.Pod, gone bool) {
			b.Pod(p, gone)
			w.Cache.SetPod(p, gone)
			h.pod(old, p, gone)
		}),
		Follow(classes.Informer(), func(_, c *storagev1.StorageClass, _ bool) { b.Class(c.Name) }),
		Follow(factory.Storage().V1().VolumeAttachments().Informer(), func(old, a *storagev1.VolumeAttachment, gone bool) {
			b.Attachment(a, gone)
			w.Cache.SetAttachment(attachmentRow(a), gone)
			h.attachment(old, a, gone)
		}),
	)
}

// Reset forgets all volumes, until [Watcher.Watch] is called again.
func (w *Watcher) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.index, w.disks, w.warnings = nil, nil, nil
}

func (w *Watcher) current() *Index {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.index
}

// Rows returns all volumes, by claim and name; none as long as there is no cluster.
func (w *Watcher) Rows() []api.Volume {
	if b := w.current(); b != nil {
		return b.Rows()
	}
	return []api.Volume{}
}

// disk looks a volume up in the vCenters, by its id, by the path of its disk or by the Supervisor's claim. For one that is gone, it
// still knows the claim.
func (w *Watcher) disk(id string) (Disk, bool) {
	claim := ""
	if w.Guest != nil {
		if of := w.Guest.VolumeOf(id); of != "" {
			id = of
		}
		claim = w.Guest.ClaimOf(id)
	}
	for _, vc := range w.VCenters() {
		if v, ok := vc.Volume(id); ok {
			return Disk{ID: v.ID, Name: v.Name, VCenter: vc.Name(), Datastore: v.DatastoreName, CapacityBytes: v.CapacityMB << 20, VM: v.VMName, File: v.Path, Claim: claim}, true
		}
	}
	return Disk{Claim: claim}, false
}

// DiskChanged updates the volume with that id in vSphere.
func (w *Watcher) DiskChanged(id string) {
	if b := w.current(); b != nil {
		b.Disk(id)
	}
}

// NodeChanged updates the volumes of a node.
func (w *Watcher) NodeChanged(name string) {
	if b := w.current(); b != nil {
		b.Node(name)
	}
}

// HandleEvent updates the volume of an event of vSphere. Events name a volume by its PersistentVolume, if it has one.
func (w *Watcher) HandleEvent(o event.Object) {
	b := w.current()
	if b == nil {
		return
	}
	id := b.Handle(o.Name)
	if vc := w.VCenters().Find(o.VCenter); id == "" && vc != nil {
		for _, v := range vc.Volumes() {
			if v.Name == o.Name {
				id = v.ID
				break
			}
		}
	}
	b.Disk(cmp.Or(id, o.Name))
}

// VMsChanged updates the volumes that were attached to VMs or detached from them.
func (w *Watcher) VMsChanged(vms []world.VM) {
	b := w.current()
	if b == nil {
		return
	}
	for _, v := range vms {
		for _, id := range w.moved(v) {
			b.Disk(id)
		}
	}
}

// moved returns the volumes that were attached to a VM or detached from it since the last call.
func (w *Watcher) moved(v world.VM) (changed []string) {
	var now []string
	if v.Exists {
		for _, d := range v.Disks {
			if d.Volume != "" {
				now = append(now, d.Volume)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.disks[v.Key()]
	for _, id := range now {
		if !slices.Contains(was, id) {
			changed = append(changed, id)
		}
	}
	for _, id := range was {
		if !slices.Contains(now, id) {
			changed = append(changed, id)
		}
	}
	if w.disks == nil {
		w.disks = map[world.VMKey][]string{}
	}
	if w.disks[v.Key()] = now; len(now) == 0 {
		delete(w.disks, v.Key())
	}
	return changed
}

// warningKinds are the kinds of objects whose warnings are logged: they explain why pods do not get their volumes.
var warningKinds = map[string]string{
	"Pod": "pod.", "PersistentVolumeClaim": "claim.", "PersistentVolume": "volume.", "VolumeSnapshot": "snapshot.", "VolumeSnapshotContent": "snapshot.",
}

// maxWarnings bounds the stored warnings: the end of an object is not reported here.
const maxWarnings = 4096

// Warning logs a warning of the attach-detach controller, the scheduler or a sidecar, or of a kubelet about a volume, unless the
// object has the same already.
func (w *Watcher) Warning(e *corev1.Event) {
	prefix := warningKinds[e.InvolvedObject.Kind]
	if prefix == "" || e.Type != corev1.EventTypeWarning {
		return
	}
	if e.Source.Component == "kubelet" && !slices.Contains(mountTroubles, e.Reason) {
		return // such as Unhealthy and BackOff: what pods do is for kubectl
	}
	key := e.InvolvedObject.Kind + "/" + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name + " " + e.Reason
	w.mu.Lock()
	b, same := w.index, w.warnings[key] == e.Message
	if w.warnings == nil || len(w.warnings) >= maxWarnings {
		w.warnings = map[string]string{} // at worst a message is logged twice
	}
	w.warnings[key] = e.Message
	w.mu.Unlock()
	if same {
		return
	}
	if b != nil {
		b.Warning(e)
	}
	name := e.InvolvedObject.Name
	if e.InvolvedObject.Namespace != "" {
		name = e.InvolvedObject.Namespace + "/" + name
	}
	w.Log.Append(event.Event{
		Plane: event.PlaneKubernetes, Level: event.Warning, Kind: prefix + strings.TrimPrefix(causality.Kebab(e.Reason), strings.Replace(prefix, ".", "-", 1)),
		Object: event.Object{Kind: e.InvolvedObject.Kind, Name: name}, Message: e.Message,
		Cause: w.Causes.OfComplaint(e.InvolvedObject.Kind, name),
	})
}

// Follow calls f for every change of every object of an informer. Old is nil for an object that is new or gone.
func Follow[T any, P interface{ *T }](informer cache.SharedInformer, f func(old, object P, gone bool)) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { f(nil, o.(P), false) },
		UpdateFunc: func(old, o any) { f(old.(P), o.(P), false) },
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			f(nil, o.(P), true)
		},
	})
	return err
}

func attachmentRow(a *storagev1.VolumeAttachment) api.Attachment {
	row := api.Attachment{Name: a.Name, Node: a.Spec.NodeName, Attached: a.Status.Attached, Deleting: a.DeletionTimestamp != nil}
	if v := a.Spec.Source.PersistentVolumeName; v != nil {
		row.Volume = *v
	}
	row.Error = attachmentError(a)
	return row
}

func attachmentError(a *storagev1.VolumeAttachment) (message string) {
	for _, e := range []*storagev1.VolumeError{a.Status.AttachError, a.Status.DetachError} {
		if e != nil {
			message = e.Message
		}
	}
	return message
}
