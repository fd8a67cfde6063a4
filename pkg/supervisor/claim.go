package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kuberesource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// reconcileClaim gives a claim its volume, makes that larger, and lets a claim go that no VM uses.
func (st storage) reconcileClaim(ctx context.Context, key string) error {
	o, err := st.get(claims(), key)
	if err != nil {
		return err
	}
	if o == nil {
		st.claimGone(key)
		return nil
	}
	claim, err := convert[corev1.PersistentVolumeClaim](o)
	if err != nil {
		return err
	}
	switch {
	case claim.DeletionTimestamp != nil:
		return st.letGo(ctx, claim)
	case claim.Spec.VolumeName == "":
		return st.provision(ctx, claim)
	case claim.Status.Phase != corev1.ClaimBound:
		return st.bind(ctx, claim)
	}
	return st.expand(ctx, claim)
}

// claimGone has the volumes of a claim that does not exist handled.
func (st storage) claimGone(key string) {
	all, _ := st.lister(volumes()).List(labels.Everything())
	for _, v := range all {
		o := asObject(v)
		if text(o, "spec", "claimRef", "namespace")+"/"+text(o, "spec", "claimRef", "name") == key {
			st.loop(volumes()).queue.Add(o.GetName())
		}
	}
}

// letGo removes the protection of a claim that must be deleted, once no VM has its volume.
func (st storage) letGo(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if !slices.Contains(claim.Finalizers, claimFinalizer) {
		return nil
	}
	all, err := st.list(attachments(), claim.Namespace, labels.Everything())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(a *unstructured.Unstructured) bool { return text(a, "spec", "volumename") == claim.Name }) {
		return nil // the end of the attachment leads here again
	}
	claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == claimFinalizer })
	_, err = replace(ctx, st.in(claims(), claim.Namespace), claim)
	return client404(err)
}

// refused returns why a claim gets no volume, "" if it can have one.
func (st storage) refused(claim *corev1.PersistentVolumeClaim, known bool) string {
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	shared := func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	}
	switch {
	case !known:
		return fmt.Sprintf("StorageClass %q is not assigned to namespace %s", class, claim.Namespace)
	case slices.ContainsFunc(claim.Spec.AccessModes, shared):
		return "a volume for several nodes needs a file service, which this Supervisor does not have"
	case claim.Spec.DataSource != nil || claim.Spec.DataSourceRef != nil:
		return "a volume from a snapshot or another volume is not supported"
	}
	return ""
}

// provision makes the volume of a claim, and the PersistentVolume.
func (st storage) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	policy, known := st.policyOf(claim.Namespace, class)
	if why := st.refused(claim, known); why != "" {
		return st.warn(ctx, claim, "ProvisioningFailed", why) // a retry changes nothing
	}
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	spec := VolumeSpec{
		Name: "pvc-" + string(claim.UID), Policy: policy, Bytes: request.Value(), Zones: st.zonesFor(claim),
		PersistentVolume: "pvc-" + string(claim.UID), Namespace: claim.Namespace, Claim: claim.Name,
	}
	v, err := st.opts.Storage.CreateVolume(ctx, spec)
	if err != nil {
		return cmp.Or(st.warn(ctx, claim, "ProvisioningFailed", err.Error()), err)
	}
	st.opts.OnVolume(claim.Name, v.ID, false)
	if err := establish(ctx, st.in(volumes(), ""), persistentVolume(claim, spec.PersistentVolume, class, v)); err != nil {
		return err
	}
	accessible := make([]map[string]string, len(v.Zones))
	for i, zone := range v.Zones {
		accessible[i] = map[string]string{corev1.LabelTopologyZone: zone}
	}
	body, err := json.Marshal(accessible)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, accessibleTopology, string(body))
	for _, key := range []string{"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"} {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, key, "yes")
	}
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "volume.kubernetes.io/storage-provisioner", driver)
	if !slices.Contains(claim.Finalizers, claimFinalizer) {
		claim.Finalizers = append(claim.Finalizers, claimFinalizer)
	}
	claim.Spec.VolumeName = spec.PersistentVolume
	if claim, err = replace(ctx, st.in(claims(), claim.Namespace), claim); err != nil {
		return err
	}
	return st.bind(ctx, claim)
}

// zonesFor returns the zones that a guest cluster asked for, or those of the namespace.
func (st storage) zonesFor(claim *corev1.PersistentVolumeClaim) (zones []string) {
	var of []string
	for _, n := range st.opts.Setup.Namespaces {
		if n.Name == claim.Namespace {
			of = n.Zones
		}
	}
	var wanted []map[string]string
	if json.Unmarshal([]byte(claim.Annotations[requestedTopology]), &wanted) != nil {
		return of // it is missing, or says nothing
	}
	for _, labels := range wanted {
		if zone := labels[corev1.LabelTopologyZone]; slices.Contains(of, zone) && !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	return zones
}

func persistentVolume(claim *corev1.PersistentVolumeClaim, name, class string, v Volume) *corev1.PersistentVolume {
	mode := corev1.PersistentVolumeFilesystem
	if claim.Spec.VolumeMode != nil {
		mode = *claim.Spec.VolumeMode
	}
	return &corev1.PersistentVolume{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": driver}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: *kuberesource.NewQuantity(v.Bytes, kuberesource.BinarySI)},
			AccessModes: claim.Spec.AccessModes, VolumeMode: &mode, StorageClassName: class,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: driver, VolumeHandle: v.ID, VolumeAttributes: map[string]string{"type": "vSphere CNS Block Volume"},
			}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: v.Zones}},
			}}}},
		},
	}
}

// bind writes that a claim and its volume have each other.
func (st storage) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	v, err := fetch[corev1.PersistentVolume](ctx, st.in(volumes(), ""), claim.Spec.VolumeName)
	if apierrors.IsNotFound(err) {
		return st.warn(ctx, claim, "FailedBinding", fmt.Sprintf("PersistentVolume %s does not exist", claim.Spec.VolumeName))
	} else if err != nil {
		return err
	}
	v.Status.Phase = corev1.VolumeBound
	if err := replaceStatus(ctx, st.in(volumes(), ""), v); err != nil {
		return err
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: v.Spec.AccessModes, Capacity: v.Spec.Capacity}
	return replaceStatus(ctx, st.in(claims(), claim.Namespace), claim)
}

// expand makes a volume as large as its claim, and says that the file system is to follow: the guest cluster's node does that.
func (st storage) expand(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	o, err := st.lister(volumes()).Get(claim.Spec.VolumeName)
	if err != nil {
		return client404(err)
	}
	v, err := convert[corev1.PersistentVolume](asObject(o).DeepCopy())
	if err != nil {
		return err
	}
	wanted, is := claim.Spec.Resources.Requests[corev1.ResourceStorage], v.Spec.Capacity[corev1.ResourceStorage]
	if wanted.Cmp(is) <= 0 || v.Spec.CSI == nil {
		return nil
	}
	if err := st.opts.Storage.ExpandVolume(ctx, v.Spec.CSI.VolumeHandle, wanted.Value()); err != nil {
		return cmp.Or(st.warn(ctx, claim, "VolumeResizeFailed", err.Error()), err)
	}
	v.Spec.Capacity[corev1.ResourceStorage] = wanted
	if _, err := replace(ctx, st.in(volumes(), ""), v); err != nil {
		return err
	}
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
		Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		Message: "Waiting for user to (re-)start a pod to finish file system resize of volume on node.",
	}}
	return replaceStatus(ctx, st.in(claims(), claim.Namespace), claim)
}

// reconcileVolume deletes a volume whose claim is gone.
func (st storage) reconcileVolume(ctx context.Context, name string) error {
	o, err := st.lister(volumes()).Get(name)
	if err != nil {
		return client404(err)
	}
	v, err := convert[corev1.PersistentVolume](asObject(o))
	if err != nil || v.Spec.ClaimRef == nil || v.Spec.CSI == nil {
		return err
	}
	st.opts.OnVolume(v.Spec.ClaimRef.Name, v.Spec.CSI.VolumeHandle, false)
	claim, err := fetch[corev1.PersistentVolumeClaim](ctx, st.in(claims(), v.Spec.ClaimRef.Namespace), v.Spec.ClaimRef.Name)
	if err == nil && claim.UID == v.Spec.ClaimRef.UID || client404(err) != nil {
		return err
	}
	if v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		if err := st.opts.Storage.DeleteVolume(ctx, v.Spec.CSI.VolumeHandle); err != nil {
			return err
		}
		st.opts.OnVolume(v.Spec.ClaimRef.Name, v.Spec.CSI.VolumeHandle, true)
		return client404(st.in(volumes(), "").Delete(ctx, name, metav1.DeleteOptions{}))
	}
	if v.Status.Phase == corev1.VolumeReleased {
		return nil
	}
	v.Status.Phase = corev1.VolumeReleased
	return client404(replaceStatus(ctx, st.in(volumes(), ""), v))
}

// handle returns the volume of a claim, "" as long as it has none.
func (st storage) handle(namespace, claim string) (string, error) {
	o, err := st.get(claims(), namespace+"/"+claim)
	if o == nil || err != nil {
		return "", err
	}
	v, err := st.lister(volumes()).Get(text(o, "spec", "volumeName"))
	if err != nil || text(o, "status", "phase") != string(corev1.ClaimBound) {
		return "", client404(err)
	}
	return text(asObject(v), "spec", "csi", "volumeHandle"), nil
}

// warn writes an Event about a claim, one for each message.
func (st storage) warn(ctx context.Context, claim *corev1.PersistentVolumeClaim, reason, message string) error {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(string(claim.UID) + reason + message)) // never fails
	now := metav1.Now()
	return establish(ctx, st.in(resource("", "v1", "events"), claim.Namespace), &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Namespace: claim.Namespace, Name: fmt.Sprintf("%s.%x", claim.Name, sum.Sum64())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: driver},
	})
}
