package storage

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// row is a PersistentVolume with all that belongs to it.
func (b *Book) row(v *corev1.PersistentVolume) api.Volume {
	row := api.Volume{Name: v.Name, Phase: string(v.Status.Phase), StorageClass: v.Spec.StorageClassName, Claim: claimOf(v)}
	if q, ok := v.Spec.Capacity[corev1.ResourceStorage]; ok {
		row.CapacityBytes = q.Value()
	}
	switch source := v.Spec.PersistentVolumeSource; {
	case source.CSI != nil:
		row.Driver, row.Handle = source.CSI.Driver, source.CSI.VolumeHandle
	case source.VsphereVolume != nil:
		row.Driver, row.Handle = "kubernetes.io/vsphere-volume", source.VsphereVolume.VolumePath
	}
	disk, known := Disk{}, false
	if row.Handle != "" {
		if disk, known = b.src.Disk(row.Handle); known {
			row.VCenter, row.Datastore, row.VM = disk.VCenter, disk.Datastore, disk.VM
			if disk.CapacityBytes > 0 {
				row.CapacityBytes = disk.CapacityBytes
			}
		}
	}
	pods := b.podsOf(row.Claim)
	for _, p := range pods {
		row.Pods = append(row.Pods, key(p))
	}
	s := story{book: b, volume: v, pods: pods, attachments: b.attachmentsOf(v.Name), known: known || v.Spec.CSI == nil}
	s.tell(&row)
	return row
}

// story is what one volume goes through.
type story struct {
	book        *Book
	volume      *corev1.PersistentVolume
	pods        []*corev1.Pod
	attachments []*storagev1.VolumeAttachment // attached ones first
	known       bool                          // vSphere has it
}

// tell fills in where the volume is, and what it waits for.
func (s story) tell(row *api.Volume) {
	if len(s.attachments) > 0 {
		a := s.attachments[0]
		row.Node, row.Attached = a.Spec.NodeName, a.Status.Attached
	}
	switch {
	case !s.known:
		row.State, row.Waits = api.VolumeLost, "CNS has no volume of this id: "+row.Handle
	case len(s.attachments) == 0:
		s.unattached(row)
	case s.attachments[0].DeletionTimestamp != nil:
		row.State = api.VolumeDetaching
		s.detaching(row, s.attachments[0])
	case !row.Attached:
		row.State = api.VolumeAttaching
		row.Waits = failure(s.attachments[0].Status.AttachError, "csi-attacher to attach it to node "+row.Node)
	default:
		s.attached(row)
	}
}

// unattached is a volume on no node.
func (s story) unattached(row *api.Volume) {
	row.State = api.VolumeDetached
	switch {
	case s.volume.Status.Phase == corev1.VolumeReleased:
		row.State = api.VolumeReleased
		if s.volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
			row.Waits = orElse(s.volume.Status.Message, "csi-provisioner to delete it"+s.book.because("PersistentVolume", s.volume.Name, "VolumeFailedDelete"))
		}
	case len(s.pods) > 0:
		p := s.pods[0]
		for _, other := range s.pods { // one that stays is waited for rather than one that goes
			if p.DeletionTimestamp != nil && other.DeletionTimestamp == nil {
				p = other
			}
		}
		if p.DeletionTimestamp != nil {
			row.Waits = "pod " + key(p) + ", which is being deleted, to be gone"
			return
		}
		if p.Spec.NodeName == "" {
			row.Waits = "the scheduler, for pod " + key(p) + unscheduled(p)
			return
		}
		row.State, row.Node = api.VolumeAttaching, p.Spec.NodeName
		row.Waits = "the attach-detach controller, for pod " + key(p)
	}
}

// attached is a volume on a node.
func (s story) attached(row *api.Volume) {
	row.State = api.VolumeAttached
	for _, p := range s.pods {
		if p.Spec.NodeName == row.Node && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			row.State = api.VolumeInUse
		}
	}
	for _, p := range s.pods {
		if p.Spec.NodeName != "" && p.Spec.NodeName != row.Node {
			row.State = api.VolumeBlocked
			s.held(row, "pod "+key(p)+" wants it on node "+p.Spec.NodeName)
			return
		}
	}
	for _, p := range s.pods {
		switch {
		case p.DeletionTimestamp != nil:
			s.held(row, "pod "+key(p)+" is being deleted")
			return
		case p.Spec.NodeName == row.Node && p.Status.Phase != corev1.PodRunning:
			row.Waits = "the kubelet of " + row.Node + " to mount it for pod " + key(p) + s.book.because("Pod", key(p), mountTroubles...)
			return
		}
	}
	if len(s.pods) == 0 {
		s.held(row, "no pod uses it")
		return
	}
	s.silent(row)
}

// mountTroubles are the reasons for which a kubelet says that it cannot mount or map a volume
// (k8s.io/kubernetes pkg/kubelet/events/event.go).
var mountTroubles = []string{"FailedMount", "FailedMapVolume", "VolumeResizeFailed", "FileSystemResizeFailed"}
