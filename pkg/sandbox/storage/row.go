package storage

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// row is a PersistentVolume with all that belongs to it.
func (x *Index) row(v *corev1.PersistentVolume) api.Volume {
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
		if disk, known = x.src.Disk(row.Handle); known {
			row.VCenter, row.Datastore, row.VM = disk.VCenter, disk.Datastore, disk.VM
			if disk.Claim == row.Handle {
				row.Handle = disk.ID
			}
			if disk.CapacityBytes > 0 {
				row.CapacityBytes = disk.CapacityBytes
			}
		}
	}
	claims, volumes := x.sharing(v)
	pods := x.podsOf(claims...)
	for _, p := range pods {
		row.Pods = append(row.Pods, key(p))
	}
	s := story{index: x, volume: v, pods: pods, attachments: x.attachmentsOf(volumes...), known: known || v.Spec.CSI == nil}
	s.explain(&row)
	s.resized(&row)
	if c := x.claims[row.Claim]; c != nil && c.Spec.VolumeName == v.Name {
		row.Health = c.Annotations[names.HealthAnnotation]
	}
	return row
}

// story has the objects that decide the state of one volume.
type story struct {
	index       *Index
	volume      *corev1.PersistentVolume
	pods        []*corev1.Pod
	attachments []*storagev1.VolumeAttachment // attached ones first
	known       bool                          // vSphere has it
}

// explain sets where the volume is, and what it waits for.
func (s story) explain(row *api.Volume) {
	if len(s.attachments) > 0 {
		a := s.attachments[0]
		row.Node, row.Attached = a.Spec.NodeName, a.Status.Attached
	}
	switch {
	case !s.known:
		row.State, row.Waits = api.VolumeLost, "CNS has no volume of this id: "+row.Handle
	case len(s.attachments) == 0:
		s.unattached(row)
	case names.IsFileVolume(row.Handle):
		s.shared(row)
	case s.attachments[0].DeletionTimestamp != nil:
		row.State = api.VolumeDetaching
		s.detaching(row, s.attachments[0])
	case !row.Attached:
		row.State = api.VolumeAttaching
		row.Waits = failure(s.attachments[0].Status.AttachError, "csi-attacher to attach it to node "+row.Node)
	default:
		s.attached(row)
	}
	s.elsewhere(row)
}

// elsewhere explains a volume that is attached to no Node, and whose disk a VM has nevertheless: another client attached it, or
// the record of an attachment was removed. vSphere attaches it to no other VM then.
func (s story) elsewhere(row *api.Volume) {
	if row.VM == "" || row.Attached || row.State != api.VolumeAttaching && row.State != api.VolumeDetached {
		return
	}
	node, ok := s.index.src.Node(row.Node)
	switch {
	case row.State == api.VolumeDetached && row.Waits != "":
		return
	case row.State == api.VolumeDetached:
		row.Waits = "VM " + row.VM + " has its disk, though it is attached to no node"
	case !ok || node.VM == "" || node.VM == row.VM:
		return
	default:
		row.State, row.Waits = api.VolumeBlocked, "VM "+row.VM+" has its disk, and node "+row.Node+" wants it"
	}
	row.Try = "vsphere-sandbox volume detach " + orElse(row.Claim, row.Name)
}

// resized explains an expansion that has not ended, of a volume that waits for nothing else.
func (s story) resized(row *api.Volume) {
	c := s.index.claims[row.Claim]
	if c == nil || row.Waits != "" || c.Spec.VolumeName != s.volume.Name {
		return
	}
	want, has := c.Spec.Resources.Requests[corev1.ResourceStorage], c.Status.Capacity[corev1.ResourceStorage]
	if c.Status.Phase != corev1.ClaimBound || has.IsZero() || want.Cmp(has) <= 0 {
		return
	}
	text := "to " + want.String() + s.index.because("PersistentVolumeClaim", row.Claim, "VolumeResizeFailed")
	switch c.Status.AllocatedResourceStatuses[corev1.ResourceStorage] {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		if row.Node == "" {
			row.Waits = "a pod that uses it: its file system grows " + text + " when it is mounted"
			return
		}
		row.Waits = "the kubelet of " + row.Node + " to grow its file system " + text
	case corev1.PersistentVolumeClaimControllerResizeInfeasible, corev1.PersistentVolumeClaimNodeResizeInfeasible:
		row.Waits = "a smaller request: it cannot be expanded " + text
		namespace, name, _ := strings.Cut(row.Claim, "/")
		row.Try = fmt.Sprintf("kubectl patch pvc -n %s %s, with less storage than %s and at least %s", namespace, name, want.String(), has.String())
	default:
		row.Waits = "csi-resizer to expand it " + text
	}
}

// unattached explains a volume on no Node.
func (s story) unattached(row *api.Volume) {
	row.State = api.VolumeDetached
	switch {
	case s.volume.Status.Phase == corev1.VolumeReleased:
		row.State = api.VolumeReleased
		if s.volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
			row.Waits = orElse(s.volume.Status.Message, "csi-provisioner to delete it"+s.index.because("PersistentVolume", s.volume.Name, "VolumeFailedDelete"))
		}
	case len(s.pods) > 0:
		p := s.pods[0]
		for _, other := range s.pods { // prefer a pod that stays to one that terminates
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

// attached explains a volume on a Node.
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
			row.Waits = "the kubelet of " + row.Node + " to mount it for pod " + key(p) + s.index.because("Pod", key(p), mountTroubles...)
			return
		}
	}
	if len(s.pods) == 0 {
		s.held(row, "no pod uses it")
		return
	}
	s.silent(row)
}

// shared explains a file volume, which several Nodes mount at a time, and no VM has.
func (s story) shared(row *api.Volume) {
	row.State = api.VolumeAttached
	mounts := map[string]bool{}
	for _, a := range s.attachments {
		mounts[a.Spec.NodeName] = a.Status.Attached
	}
	row.Node = strings.Join(sorted(mounts), ",")
	for _, p := range s.pods {
		switch {
		case p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil:
			row.State = api.VolumeInUse
		case p.Spec.NodeName != "" && p.DeletionTimestamp == nil && !mounts[p.Spec.NodeName]:
			row.Waits = "csi-attacher, for node " + p.Spec.NodeName
		case p.Spec.NodeName != "" && p.DeletionTimestamp == nil:
			row.Waits = "the kubelet of " + p.Spec.NodeName + " to mount it for pod " + key(p) + s.index.because("Pod", key(p), mountTroubles...)
		}
	}
}

// mountTroubles are the reasons of Events in which a kubelet cannot mount or map a volume
// (k8s.io/kubernetes pkg/kubelet/events/event.go).
var mountTroubles = []string{"FailedMount", "FailedMapVolume", "VolumeResizeFailed", "FileSystemResizeFailed"}

func key(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func keep[T any](m map[string]T, key string, v T, gone bool) {
	if gone {
		delete(m, key)
	} else {
		m[key] = v
	}
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func same(a, b api.Volume) bool { return reflect.DeepEqual(a, b) }

// handle returns the id of the volume in vSphere, or the path of its disk; "" for a volume of another driver.
func handle(v *corev1.PersistentVolume) string {
	switch {
	case v.Spec.CSI != nil:
		return v.Spec.CSI.VolumeHandle
	case v.Spec.VsphereVolume != nil:
		return v.Spec.VsphereVolume.VolumePath
	}
	return ""
}

func claimOf(v *corev1.PersistentVolume) string {
	if r := v.Spec.ClaimRef; r != nil {
		return r.Namespace + "/" + r.Name
	}
	return ""
}

// claimsOf lists the claims that a pod uses.
func claimsOf(p *corev1.Pod) (claims []string) {
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			claims = append(claims, p.Namespace+"/"+v.PersistentVolumeClaim.ClaimName)
		}
		if v.Ephemeral != nil {
			claims = append(claims, p.Namespace+"/"+p.Name+"-"+v.Name)
		}
	}
	return claims
}

// sharing lists the PersistentVolumes with the disk of this one, which is among them, and their claims. Kubernetes attaches a disk
// to a Node once, with a VolumeAttachment of one of them.
func (x *Index) sharing(v *corev1.PersistentVolume) (claims, volumes []string) {
	volumes = []string{v.Name}
	if all := x.byHandle[handle(v)]; slices.Contains(all, v.Name) {
		volumes = all
	}
	for _, name := range volumes {
		claims = append(claims, claimOf(x.volumes[name]))
	}
	return claims, volumes
}

// podsOf lists the pods that use one of the claims and have not ended, by name.
func (x *Index) podsOf(claims ...string) (pods []*corev1.Pod) {
	for _, p := range x.pods {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !ended && slices.ContainsFunc(claimsOf(p), func(c string) bool { return slices.Contains(claims, c) }) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(key(a), key(b)) })
	return pods
}

// attachmentsOf lists the VolumeAttachments of PersistentVolumes, those that are attached first.
func (x *Index) attachmentsOf(volumes ...string) (all []*storagev1.VolumeAttachment) {
	for _, a := range x.attachments {
		if v := a.Spec.Source.PersistentVolumeName; v != nil && slices.Contains(volumes, *v) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *storagev1.VolumeAttachment) int {
		if a.Status.Attached != b.Status.Attached {
			if a.Status.Attached {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Spec.NodeName, b.Spec.NodeName)
	})
	return all
}

// collects is how often the garbage collector looks for pods of nodes that are out of service, at any speed: nothing sets
// it (k8s.io/kubernetes pkg/controller/podgc/gc_controller.go, gcCheckPeriod).
const collects = 20 * time.Second

// silent explains a volume whose use is unknown: a pod has it, and the Node does not answer or is gone, or the disk has
// been detached.
func (s story) silent(row *api.Volume) {
	if row.State != api.VolumeInUse {
		return
	}
	node, ok := s.index.src.Node(row.Node)
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

// held returns what must happen before a volume leaves its Node. A pod keeps its volume on the Node until the kubelet has
// reported that the containers are gone (k8s.io/kubernetes pkg/controller/volume/attachdetach/util/util.go,
// ProcessPodVolumes); after that the controller waits for the kubelet to unmount it: for a limited time on a Node that is not
// ready, and not at all on one that has the out-of-service taint (reconciler/reconciler.go).
func (s story) held(row *api.Volume, because string) {
	node, ok := s.index.src.Node(row.Node)
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
		row.Try = fmt.Sprintf("vsphere-sandbox taint out-of-service %s, or kubectl delete pod --force -n %s %s and a wait of %s", row.Node, here.Namespace, here.Name, s.index.src.ForceDetach)
		if !ok {
			row.Waits = fmt.Sprintf("%s; pod %s is still there, and its node %s is not", because, key(here), row.Node)
			row.Try = fmt.Sprintf("kubectl delete pod --force -n %s %s", here.Namespace, here.Name)
		}
	default:
		row.Waits = fmt.Sprintf("%s; node %s does not answer: it is detached by force %s after that was asked for", because, row.Node, s.index.src.ForceDetach)
		row.Try = "vsphere-sandbox taint out-of-service " + row.Node
		if !ok {
			row.Try = ""
		}
	}
}

// detaching returns what a detachment waits for.
func (s story) detaching(row *api.Volume, a *storagev1.VolumeAttachment) {
	row.Waits = failure(a.Status.DetachError, "csi-attacher to detach it from node "+row.Node)
}

// pending returns the row of a claim that has no volume.
func (x *Index) pending(name string, c *corev1.PersistentVolumeClaim) api.Volume {
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
	pods := x.podsOf(name)
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
		row.Waits = "csi-provisioner, for node " + c.Annotations[selected] + x.because("PersistentVolumeClaim", name)
	case len(pods) > 0 && pods[0].Spec.NodeName == "":
		row.Waits = "the scheduler, for pod " + key(pods[0]) + unscheduled(pods[0]) + x.because("PersistentVolumeClaim", name, "ProvisioningFailed")
	case len(pods) > 0 && x.waitsForConsumer(c):
		row.Waits = "the scheduler to choose a node: pod " + key(pods[0]) + " sets nodeName and passes it by"
		row.Try = "give the pod a nodeSelector instead of nodeName"
	default:
		row.Waits = x.unprovisioned(name, c)
	}
	return row
}

// waitsForConsumer reports whether the claim's StorageClass makes a volume only for a pod that the scheduler has placed.
func (x *Index) waitsForConsumer(c *corev1.PersistentVolumeClaim) bool {
	if c.Spec.StorageClassName == nil {
		return false
	}
	mode, ok := x.src.Class(*c.Spec.StorageClassName)
	return ok && mode == storagev1.VolumeBindingWaitForFirstConsumer
}

// unprovisioned returns what a claim waits for that does not wait for a pod.
func (x *Index) unprovisioned(name string, c *corev1.PersistentVolumeClaim) string {
	class := ""
	if c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	mode, ok := x.src.Class(class)
	switch {
	case class == "":
		return "a PersistentVolume that fits, or a StorageClass: it names none"
	case !ok:
		return "StorageClass " + class + ", which does not exist"
	case mode == storagev1.VolumeBindingWaitForFirstConsumer:
		return "a pod that uses it: StorageClass " + class + " waits for the first consumer"
	}
	return "csi-provisioner" + x.because("PersistentVolumeClaim", name)
}

// failure returns why an attachment failed last, else what it waits for.
func failure(e *storagev1.VolumeError, otherwise string) string {
	if e == nil || e.Message == "" {
		return otherwise
	}
	return otherwise + ": " + e.Message
}

// unscheduled returns why the scheduler has found no Node for a pod.
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
