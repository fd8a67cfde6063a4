package storage

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// collects is how often the garbage collector looks for pods of nodes that are out of service, at any speed: nothing sets
// it (k8s.io/kubernetes pkg/controller/podgc/gc_controller.go, gcCheckPeriod).
const collects = 20 * time.Second

// silent says of a volume that a pod seems to use that nobody knows whether it does: its node does not answer, or is no
// more, or its disk has been taken away.
func (s story) silent(row *api.Volume) {
	if row.State != api.VolumeInUse {
		return
	}
	node, ok := s.book.src.Node(row.Node)
	switch {
	case !ok:
		// Pods of a node that is gone are looked at twice, 40 s apart (gc_controller.go, quarantineTime).
		row.State = api.VolumeAttached
		row.Waits = "node " + row.Node + " is no more: the garbage collector to remove pod " + strings.Join(row.Pods, ", ") + ", which takes it a minute"
		row.Try = "kubectl delete pod --force, of " + strings.Join(row.Pods, ", ")
	case node.Ready != string(corev1.ConditionTrue):
		row.Waits = "node " + row.Node + " to answer, or else its pods to be evicted"
	case s.volume.Spec.CSI != nil && row.VM == "":
		row.Waits = "its disk is on no VM: csi-attacher to find out and attach it again"
	}
}

// held says what has to happen before a volume leaves its node. A pod's object keeps its volume where it is until the
// kubelet has said that its containers are gone (k8s.io/kubernetes pkg/controller/volume/attachdetach/util/util.go,
// ProcessPodVolumes); after that the controller waits for the kubelet to unmount it, at most so long on a node that is not
// ready, and not at all on one that has the out-of-service taint (reconciler/reconciler.go).
func (s story) held(row *api.Volume, because string) {
	node, ok := s.book.src.Node(row.Node)
	var here *corev1.Pod
	for _, p := range s.pods {
		if p.Spec.NodeName == row.Node {
			here = p
		}
	}
	switch {
	case ok && outOfService(node) && here != nil:
		row.Waits = fmt.Sprintf("%s; node %s is out of service: the garbage collector, which looks every %s, to remove pod %s; it is detached at once then", because, row.Node, collects, key(here))
	case ok && outOfService(node):
		row.Waits = because + "; it is detached at once: node " + row.Node + " is out of service"
	case ok && node.Ready == string(corev1.ConditionTrue):
		row.Waits = because + "; the kubelet of " + row.Node + " to unmount it"
	case here != nil:
		row.Waits = fmt.Sprintf("%s; pod %s is still there, and node %s, which does not answer, cannot say that its containers are gone", because, key(here), row.Node)
		row.Try = fmt.Sprintf("vsphere-sandbox taint out-of-service %s, or kubectl delete pod --force -n %s %s and a wait of %s", row.Node, here.Namespace, here.Name, s.book.src.ForceDetach)
		if !ok {
			row.Waits = fmt.Sprintf("%s; pod %s is still there, and its node %s is not", because, key(here), row.Node)
			row.Try = fmt.Sprintf("kubectl delete pod --force -n %s %s", here.Namespace, here.Name)
		}
	default:
		row.Waits = fmt.Sprintf("%s; node %s does not answer: it is detached by force %s after that was asked for", because, row.Node, s.book.src.ForceDetach)
		row.Try = "vsphere-sandbox taint out-of-service " + row.Node
		if !ok {
			row.Try = ""
		}
	}
}

// detaching says what a detachment under way waits for.
func (s story) detaching(row *api.Volume, a *storagev1.VolumeAttachment) {
	row.Waits = failure(a.Status.DetachError, "csi-attacher to detach it from node "+row.Node)
}

// pending is a claim that has no volume.
func (b *Book) pending(name string, c *corev1.PersistentVolumeClaim) api.Volume {
	row := api.Volume{Name: name, Claim: name, State: api.VolumePending}
	if c == nil {
		return row
	}
	row.Phase = string(c.Status.Phase)
	if c.Spec.StorageClassName != nil {
		row.StorageClass = *c.Spec.StorageClassName
	}
	if q, ok := c.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
		row.CapacityBytes = q.Value()
	}
	pods := b.podsOf(name)
	for _, p := range pods {
		row.Pods = append(row.Pods, key(p))
	}
	const selected = "volume.kubernetes.io/selected-node"
	switch {
	case c.Status.Phase == corev1.ClaimLost:
		row.State, row.Waits = api.VolumeLost, "its PersistentVolume is gone: "+c.Spec.VolumeName
	case c.Spec.VolumeName != "":
		row.Waits = "PersistentVolume " + c.Spec.VolumeName
	case c.Annotations[selected] != "":
		row.Waits = "csi-provisioner, for node " + c.Annotations[selected] + b.because("PersistentVolumeClaim", name)
	case len(pods) > 0 && pods[0].Spec.NodeName == "":
		row.Waits = "the scheduler, for pod " + key(pods[0]) + unscheduled(pods[0]) + b.because("PersistentVolumeClaim", name, "ProvisioningFailed")
	default:
		row.Waits = b.unprovisioned(name, c)
	}
	return row
}

// unprovisioned is what a claim waits for that no pod makes wait.
func (b *Book) unprovisioned(name string, c *corev1.PersistentVolumeClaim) string {
	class := ""
	if c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	mode, ok := b.src.Class(class)
	switch {
	case class == "":
		return "a PersistentVolume that fits, or a StorageClass: it names none"
	case !ok:
		return "StorageClass " + class + ", which does not exist"
	case mode == storagev1.VolumeBindingWaitForFirstConsumer:
		return "a pod that uses it: StorageClass " + class + " waits for the first consumer"
	}
	return "csi-provisioner" + b.because("PersistentVolumeClaim", name)
}

// failure is why an attachment failed the last time, else what is waited for.
func failure(e *storagev1.VolumeError, otherwise string) string {
	if e == nil || e.Message == "" {
		return otherwise
	}
	return otherwise + ": " + e.Message
}

// unscheduled is what the scheduler says of a pod.
func unscheduled(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
			return ": " + c.Message
		}
	}
	return ""
}

func outOfService(n api.Node) bool {
	return slices.ContainsFunc(n.Taints, func(t string) bool { return strings.HasPrefix(t, corev1.TaintNodeOutOfService) })
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
