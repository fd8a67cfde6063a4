package explain

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

func (c Volume) sawClaim(q *question) {
	if c.Row.Claim == "" {
		return
	}
	what := "PersistentVolumeClaim " + c.Row.Claim
	switch pvc := c.Claim.Is; {
	case c.Claim.Err != nil:
		q.saw(apiServer, unknown, what, "%v", c.Claim.Err)
	case pvc == nil:
		q.saw(apiServer, missing, what, "there is none any more")
	default:
		text := string(pvc.Status.Phase)
		if pvc.Spec.VolumeName != "" {
			text += " to " + pvc.Spec.VolumeName
		}
		if pvc.Spec.StorageClassName != nil {
			text += ", StorageClass " + *pvc.Spec.StorageClassName
		}
		q.saw(apiServer, verdictOf(pvc.Status.Phase == corev1.ClaimBound), what, "%s", text)
		if pvc.Status.Phase == corev1.ClaimPending {
			q.Evidence[len(q.Evidence)-1].Verdict = missing
		}
	}
}

func (c Volume) sawVolume(q *question) {
	switch pv := c.Volume.Is; {
	case c.Volume.Err != nil:
		q.saw(apiServer, unknown, "PersistentVolume", "%v", c.Volume.Err)
	case pv == nil:
		q.saw(apiServer, missing, "PersistentVolume", "there is none")
	default:
		text := string(pv.Status.Phase) + ", " + string(pv.Spec.PersistentVolumeReclaimPolicy)
		if pv.Spec.CSI != nil {
			text += ", handle " + pv.Spec.CSI.VolumeHandle
		}
		q.saw(apiServer, verdictOf(pv.Status.Phase == corev1.VolumeBound), "PersistentVolume "+pv.Name, "%s", text)
	}
}

func (c Volume) sawDisk(q *question) {
	if c.Row.Handle == "" {
		return
	}
	what := "CNS volume " + c.Row.Handle
	switch d := c.Disk.Is; {
	case c.Disk.Err != nil:
		q.saw("vCenter "+cmp.Or(c.Row.VCenter, "?"), unknown, what, "%v", c.Disk.Err)
	case d == nil:
		q.saw("vCenters", missing, what, "no vCenter has one of this id")
	default:
		q.saw("vCenter "+d.VCenter, fine, what, "%d MiB on datastore %s, health %s, file %s", d.CapacityBytes>>20, orNone(d.Datastore), orNone(d.Health), orNone(d.File))
	}
}

func (c Volume) sawHolders(q *question) {
	switch list := c.Holders.Is; {
	case c.Holders.Err != nil:
		q.saw("vCenters", unknown, "VM with the disk", "%v", c.Holders.Err)
	case len(list) == 0:
		q.saw("vCenters", neither, "VM with the disk", "none")
	default:
		for _, h := range list {
			vcenter, _ := cutID(h.VM)
			q.saw("vCenter "+vcenter, verdictOf(len(list) == 1), "VM "+h.VM, "powered %s; its disk %d:%d is the volume, %s", h.Power, h.Disk.Controller, h.Disk.Unit, h.Disk.File)
		}
	}
}

func (c Volume) sawAttachments(q *question) {
	switch list := c.Attachments.Is; {
	case c.Attachments.Err != nil:
		q.saw(apiServer, unknown, "VolumeAttachment", "%v", c.Attachments.Err)
	case len(list) == 0:
		q.saw(apiServer, neither, "VolumeAttachment", "none")
	default:
		for _, a := range list {
			text, verdict := "wanted, and not attached", missing
			if a.Status.Attached {
				text, verdict = "attached", fine
			}
			if a.DeletionTimestamp != nil {
				text, verdict = text+", being detached since "+c.clock(a.DeletionTimestamp.Time), wrong
			}
			for _, e := range []*storagev1.VolumeError{a.Status.AttachError, a.Status.DetachError} {
				if e != nil {
					text, verdict = text+": "+e.Message, wrong
				}
			}
			q.saw(apiServer, verdict, "VolumeAttachment to node "+a.Spec.NodeName, "%s", text)
		}
	}
}

func (c Volume) sawPods(q *question) {
	if c.Pods.Err != nil {
		q.saw(apiServer, unknown, "pods that use it", "%v", c.Pods.Err)
		return
	}
	if len(c.Pods.Is) == 0 {
		q.saw(apiServer, neither, "pods that use it", "none")
	}
	for _, p := range c.Pods.Is {
		text := string(p.Status.Phase)
		if p.Spec.NodeName != "" {
			text += " on node " + p.Spec.NodeName
		} else {
			text += ", not scheduled"
		}
		waits := waiting(p)
		if waits != "" {
			text += ", and yet " + waits
		}
		if p.DeletionTimestamp != nil {
			text += ", being deleted: its grace period ends at " + c.clock(p.DeletionTimestamp.Time)
		}
		q.saw(apiServer, verdictOf(p.Status.Phase == corev1.PodRunning && waits == "" && p.DeletionTimestamp == nil), "Pod "+p.Namespace+"/"+p.Name, "%s", text)
	}
}

// waiting says which container of a pod whose phase is Running does not run: the phase is that of a pod which has been started once.
func waiting(p corev1.Pod) string {
	if p.Status.Phase != corev1.PodRunning {
		return ""
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil {
			return "container " + s.Name + " waits: " + cmp.Or(w.Message, w.Reason, "no reason is given")
		}
	}
	return ""
}
