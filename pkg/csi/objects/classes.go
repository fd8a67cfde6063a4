package objects

import (
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// The classes that there are whatever is configured.
const (
	// DefaultClass is the StorageClass of claims that name none: a volume is made where the pod is scheduled to.
	DefaultClass = "vsphere"
	// ImmediateClass makes the volume at once, and the pod is scheduled to where it is.
	ImmediateClass = "vsphere-immediate"
	// SnapshotClassName is the VolumeSnapshotClass of snapshots that name none.
	SnapshotClassName = "vsphere"
)

// fsType is the file system of volumes whose claim does not ask for a block device.
const fsType = "ext4"

// StorageClasses are the default one, the immediate one, and one for each storage policy, "vsphere-gold" for "Gold".
func StorageClasses(c Config) []*storagev1.StorageClass {
	first := class(DefaultClass, storagev1.VolumeBindingWaitForFirstConsumer)
	first.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	all := []*storagev1.StorageClass{first, class(ImmediateClass, storagev1.VolumeBindingImmediate)}
	taken := map[string]bool{DefaultClass: true, ImmediateClass: true}
	for _, policy := range c.Policies {
		of := class(policyClass(policy, taken), storagev1.VolumeBindingWaitForFirstConsumer)
		of.Parameters[names.ParameterPolicy] = policy
		all = append(all, of)
	}
	return all
}

func class(name string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		TypeMeta:             typeMeta(storagev1.SchemeGroupVersion, "StorageClass"),
		ObjectMeta:           metav1.ObjectMeta{Name: name},
		Provisioner:          names.Driver,
		Parameters:           map[string]string{names.ParameterFSType: fsType},
		ReclaimPolicy:        new(corev1.PersistentVolumeReclaimDelete),
		AllowVolumeExpansion: new(true),
		VolumeBindingMode:    &mode,
	}
}

// policyClass is the name of a policy's class: what of the policy's own name the name of an object can have, and a number
// where that is taken.
func policyClass(policy string, taken map[string]bool) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(policy))
	name := strings.Join(append([]string{DefaultClass}, strings.FieldsFunc(word, func(r rune) bool { return r == '-' })...), "-")
	name = strings.TrimRight(name[:min(len(name), 240)], "-")
	base := name
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	taken[name] = true
	return name
}

// SnapshotClass is the default VolumeSnapshotClass.
func SnapshotClass() *snapshotv1.VolumeSnapshotClass {
	return &snapshotv1.VolumeSnapshotClass{
		TypeMeta: typeMeta(snapshotv1.SchemeGroupVersion, "VolumeSnapshotClass"),
		ObjectMeta: metav1.ObjectMeta{
			Name:        SnapshotClassName,
			Annotations: map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"},
		},
		Driver:         names.Driver,
		DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
	}
}
