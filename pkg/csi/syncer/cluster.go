package syncer

import (
	"cmp"
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// cluster is the PersistentVolumes, claims and pods of the cluster, from memory.
type cluster struct {
	factory           informers.SharedInformerFactory
	pvs, claims, pods cache.SharedIndexInformer
	changed           func(id string)
	deletes           func(id string)
}

// The indices.
const (
	byVolume = "volume" // PersistentVolumes by volume id
	byClaim  = "claim"  // PersistentVolumes by their claim's key, pods by those of their claims
)

// newCluster returns a cluster that has not started watching. It calls changed with the id of a volume whose objects have
// changed, and before that deletes if a PersistentVolume was deleted whose volume the driver deletes.
func newCluster(client kubernetes.Interface, changed, deletes func(id string)) *cluster {
	f := informers.NewSharedInformerFactory(client, 0)
	return &cluster{
		factory: f, changed: changed, deletes: deletes,
		pvs:    f.Core().V1().PersistentVolumes().Informer(),
		claims: f.Core().V1().PersistentVolumeClaims().Informer(),
		pods:   f.Core().V1().Pods().Informer(),
	}
}

// run starts watching, and returns after the caches are filled; all counts what runs until ctx ends.
func (c *cluster) run(ctx context.Context, all *sync.WaitGroup) error {
	for _, w := range []struct {
		informer cache.SharedIndexInformer
		trim     cache.TransformFunc
		indexers cache.Indexers
		changed  func(any)
	}{
		{c.pvs, trimPV, cache.Indexers{byVolume: volumeOf, byClaim: claimKeyOf}, c.pvChanged},
		{c.claims, trimClaim, nil, c.claimChanged},
		{c.pods, trimPod, cache.Indexers{byClaim: claimsOf}, c.podChanged},
	} {
		if err := w.informer.SetTransform(w.trim); err != nil {
			return err
		}
		if err := w.informer.AddIndexers(w.indexers); err != nil {
			return err
		}
		if _, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    w.changed,
			UpdateFunc: func(before, after any) { w.changed(before); w.changed(after) },
			DeleteFunc: func(obj any) {
				if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
					obj = gone.Obj
				}
				if pv, ok := obj.(*corev1.PersistentVolume); ok && driverDeletes(pv) {
					c.deletes(handle(pv))
				}
				w.changed(obj)
			},
		}); err != nil {
			return err
		}
	}
	c.factory.StartWithContext(ctx)
	all.Go(func() {
		<-ctx.Done()
		c.factory.Shutdown()
	})
	cache.WaitForCacheSync(ctx.Done(), c.pvs.HasSynced, c.claims.HasSynced, c.pods.HasSynced)
	return nil
}

func (c *cluster) pvChanged(obj any) {
	if pv, ok := obj.(*corev1.PersistentVolume); ok {
		if id := handle(pv); id != "" {
			c.changed(id)
		}
	}
}

func (c *cluster) claimChanged(obj any) {
	if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
		c.keyChanged(claim.Namespace + "/" + claim.Name)
	}
}

func (c *cluster) podChanged(obj any) {
	keys, _ := claimsOf(obj) // never an error
	for _, key := range keys {
		c.keyChanged(key)
	}
}

func (c *cluster) keyChanged(claim string) {
	pvs, _ := c.pvs.GetIndexer().ByIndex(byClaim, claim) // the index exists
	for _, pv := range pvs {
		c.pvChanged(pv)
	}
}

// driverDeletes reports whether the driver deletes the volume of a deleted PersistentVolume, or has deleted it. The condition is
// upstream's (csiPVDeleted).
func driverDeletes(pv *corev1.PersistentVolume) bool {
	return pv.Spec.ClaimRef != nil && pv.Status.Phase == corev1.VolumeReleased && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
}

// volumes returns the ids of the volumes that have a PersistentVolume.
func (c *cluster) volumes() map[string]bool {
	all := map[string]bool{}
	for _, id := range c.pvs.GetIndexer().ListIndexFuncValues(byVolume) {
		all[id] = true
	}
	return all
}

// bound returns the ids of the volumes that have a bound PersistentVolume. The value reports that CNS has or had a record of it: not of
// an existing disk that is not registered yet.
func (c *cluster) bound() map[string]bool {
	all := map[string]bool{}
	for _, obj := range c.pvs.GetStore().List() {
		pv := obj.(*corev1.PersistentVolume)
		id := handle(pv)
		if id == "" || pv.Status.Phase != corev1.VolumeBound {
			continue
		}
		claim := c.claimOf(pv)
		all[id] = all[id] || isDynamic(pv) || claim != nil && claim.Annotations[names.HealthAnnotation] != ""
	}
	return all
}

// claimOf returns the claim that a PersistentVolume is bound to, or nil.
func (c *cluster) claimOf(pv *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	to := pv.Spec.ClaimRef
	if to == nil {
		return nil
	}
	obj, found, _ := c.claims.GetStore().GetByKey(to.Namespace + "/" + to.Name) // never an error
	if !found {
		return nil
	}
	if claim := obj.(*corev1.PersistentVolumeClaim); claim.Spec.VolumeName == pv.Name {
		return claim
	}
	return nil
}

// named returns the PersistentVolumes of a volume, bound ones first.
func (c *cluster) named(id string) []*corev1.PersistentVolume {
	found, _ := c.pvs.GetIndexer().ByIndex(byVolume, id) // the index exists
	var all []*corev1.PersistentVolume
	for _, obj := range found {
		all = append(all, obj.(*corev1.PersistentVolume))
	}
	slices.SortFunc(all, func(a, b *corev1.PersistentVolume) int {
		bound := func(pv *corev1.PersistentVolume) int {
			if pv.Status.Phase == corev1.VolumeBound {
				return 0
			}
			return 1
		}
		return cmp.Or(bound(a)-bound(b), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// entities returns the record that PersistentVolumes of one volume should have: themselves, and of the bound ones the claim, and
// the pods on nodes that have not ended.
func (c *cluster) entities(pvs []*corev1.PersistentVolume) []volume.Entity {
	var all []volume.Entity
	for _, pv := range pvs {
		ref := volume.EntityRef{Kind: volume.PV, Name: pv.Name}
		all = append(all, volume.Entity{EntityRef: ref, Labels: labels(pv.Labels)})
		to := c.claimOf(pv)
		if to == nil {
			continue
		}
		claim := volume.EntityRef{Kind: volume.PVC, Namespace: to.Namespace, Name: to.Name}
		all = append(all, volume.Entity{EntityRef: claim, Labels: labels(to.Labels), Refers: ref})
		pods, _ := c.pods.GetIndexer().ByIndex(byClaim, to.Namespace+"/"+to.Name) // the index exists
		for _, obj := range pods {
			pod := obj.(*corev1.Pod)
			if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
				continue
			}
			all = append(all, volume.Entity{
				EntityRef: volume.EntityRef{Kind: volume.Pod, Namespace: pod.Namespace, Name: pod.Name}, Labels: labels(pod.Labels), Refers: claim,
			})
		}
	}
	return all
}

// isDynamic reports whether the provisioner made the PersistentVolume.
func isDynamic(pv *corev1.PersistentVolume) bool {
	return pv.Spec.CSI != nil && pv.Spec.CSI.VolumeAttributes["storage.kubernetes.io/csiProvisionerIdentity"] != ""
}

// createdWith returns the record of a volume after CreateVolume.
func createdWith(pv *corev1.PersistentVolume) []volume.Entity {
	m := volume.Metadata{PV: pv.Name}
	if to := pv.Spec.ClaimRef; to != nil {
		m.Namespace, m.PVC = to.Namespace, to.Name
	}
	return m.Entities()
}

// maxLabels is CNS's maximum per object. Of more, the first ones are recorded.
const maxLabels = 32

func labels(all map[string]string) map[string]string {
	if len(all) <= maxLabels {
		return all
	}
	var keys []string
	for key := range all {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	first := map[string]string{}
	for _, key := range keys[:maxLabels] {
		first[key] = all[key]
	}
	return first
}

// handle returns the volume id of one of this driver's PersistentVolumes, or "".
func handle(pv *corev1.PersistentVolume) string {
	if pv.Spec.CSI == nil || pv.Spec.CSI.Driver != names.Driver {
		return ""
	}
	return pv.Spec.CSI.VolumeHandle
}

func volumeOf(obj any) ([]string, error) {
	if pv, ok := obj.(*corev1.PersistentVolume); ok && handle(pv) != "" {
		return []string{handle(pv)}, nil
	}
	return nil, nil
}

func claimKeyOf(obj any) ([]string, error) {
	if pv, ok := obj.(*corev1.PersistentVolume); ok && handle(pv) != "" && pv.Spec.ClaimRef != nil {
		return []string{pv.Spec.ClaimRef.Namespace + "/" + pv.Spec.ClaimRef.Name}, nil
	}
	return nil, nil
}

func claimsOf(obj any) (keys []string, _ error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			keys = append(keys, pod.Namespace+"/"+v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			keys = append(keys, pod.Namespace+"/"+pod.Name+"-"+v.Name)
		}
	}
	return keys, nil
}

// trimmed returns the metadata that is kept in memory.
func trimmed(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, Labels: m.Labels}
}

func trimPV(obj any) (any, error) {
	pv, ok := obj.(*corev1.PersistentVolume)
	if !ok {
		return obj, nil
	}
	return &corev1.PersistentVolume{
		TypeMeta: pv.TypeMeta, ObjectMeta: trimmed(pv.ObjectMeta),
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef: pv.Spec.ClaimRef, PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: pv.Spec.CSI},
			PersistentVolumeReclaimPolicy: pv.Spec.PersistentVolumeReclaimPolicy,
		},
		Status: corev1.PersistentVolumeStatus{Phase: pv.Status.Phase},
	}, nil
}

func trimClaim(obj any) (any, error) {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return obj, nil
	}
	slim := &corev1.PersistentVolumeClaim{
		ObjectMeta: trimmed(claim.ObjectMeta), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: claim.Spec.VolumeName},
	}
	for _, key := range []string{names.HealthAnnotation, names.HealthTimestampAnnotation} {
		if value, ok := claim.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&slim.ObjectMeta, key, value)
		}
	}
	return slim, nil
}

// trimPod keeps of a pod without claims only its name.
func trimPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	if keys, _ := claimsOf(pod); len(keys) == 0 {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion}}, nil
	}
	slim := &corev1.Pod{
		ObjectMeta: trimmed(pod.ObjectMeta), Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			slim.Spec.Volumes = append(slim.Spec.Volumes, v)
		}
	}
	return slim, nil
}
