package sandbox

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// newBook returns the book of volumes, which tells those who watch.
func (s *Sandbox) newBook(classes storagelisters.StorageClassLister) *storage.Book {
	return storage.New(storage.Sources{
		Disk: s.disk,
		Node: func(name string) (api.Node, bool) {
			nodes := s.world.Nodes()
			if i := slices.IndexFunc(nodes, func(n api.Node) bool { return n.Name == name && n.Registered }); i >= 0 {
				return nodes[i], true
			}
			return api.Node{}, false
		},
		Class: func(name string) (mode storagev1.VolumeBindingMode, ok bool) {
			class, err := classes.Get(name)
			if err != nil {
				return "", false
			}
			if class.VolumeBindingMode != nil {
				mode = *class.VolumeBindingMode
			}
			return mode, true
		},
		ForceDetach: s.opts.Speed.Of(pace.AttachDetachMaxWaitForUnmount),
		Changed:     s.watchCache.SetVolume,
	})
}

// volumeBook returns the book, nil as long as there is no cluster.
func (s *Sandbox) volumeBook() *storage.Book {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.book
}

// volumeID is the id of the volume that an event is about, which goes by its name: the PersistentVolume's, where there is
// one.
func (s *Sandbox) volumeID(b *storage.Book, o event.Object) string {
	if id := b.Handle(o.Name); id != "" {
		return id
	}
	if vc := s.vcenters.Find(o.VCenter); vc != nil {
		for _, v := range vc.Volumes() {
			if v.Name == o.Name {
				return v.ID
			}
		}
	}
	return o.Name
}

// disk looks a volume up in the vCenters, by its id or by the path of its disk.
func (s *Sandbox) disk(id string) (storage.Disk, bool) {
	for _, vc := range s.vcenters {
		if v, ok := vc.Volume(id); ok {
			return storage.Disk{ID: v.ID, Name: v.Name, VCenter: vc.Name(), Datastore: v.DatastoreName, CapacityBytes: v.CapacityMB << 20, VM: v.VMName, File: v.Path}, true
		}
	}
	return storage.Disk{}, false
}

// watchVolumes keeps the book of volumes, tells those who watch of VolumeAttachments, and writes down what happens to
// both.
func (s *Sandbox) watchVolumes(factory informers.SharedInformerFactory) error {
	s.mu.Lock()
	s.book = s.newBook(factory.Storage().V1().StorageClasses().Lister())
	s.mu.Unlock()
	b, core, diary := s.book, factory.Core().V1(), newDiary(s)
	return cmp.Or(
		follow(core.PersistentVolumeClaims().Informer(), func(old, c *corev1.PersistentVolumeClaim, gone bool) {
			b.Claim(c, gone)
			diary.claim(old, c, gone)
		}),
		follow(core.PersistentVolumes().Informer(), func(_, v *corev1.PersistentVolume, gone bool) { b.Volume(v, gone) }),
		follow(core.Pods().Informer(), func(old, p *corev1.Pod, gone bool) {
			b.Pod(p, gone)
			s.watchCache.SetPod(p, gone)
			diary.pod(old, p, gone)
		}),
		follow(factory.Storage().V1().StorageClasses().Informer(), func(_, c *storagev1.StorageClass, _ bool) { b.Class(c.Name) }),
		follow(factory.Storage().V1().CSINodes().Informer(), func(_, n *storagev1.CSINode, gone bool) { s.csiNode(n, gone) }),
		follow(factory.Storage().V1().VolumeAttachments().Informer(), func(old, a *storagev1.VolumeAttachment, gone bool) {
			b.Attachment(a, gone)
			s.watchCache.SetAttachment(attachmentRow(a), gone)
			diary.attachment(old, a, gone)
		}),
	)
}

// disksChanged tells the book of volumes that have come to or gone from a VM.
func (s *Sandbox) disksChanged(vms []world.VM) {
	b := s.volumeBook()
	if b == nil {
		return
	}
	for _, v := range vms {
		for _, id := range s.held.change(v) {
			b.Disk(id)
		}
	}
}

// follow calls f for every change of every object of an informer; old is nil for one that is new, and for one that is gone.
func follow[T any, P interface{ *T }](informer cache.SharedInformer, f func(old, object P, gone bool)) error {
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
