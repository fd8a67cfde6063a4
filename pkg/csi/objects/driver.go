package objects

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// allocatableSeconds is how often kubelets ask again how many volumes a node takes: once a minute, and at once when an
// attachment fails because the slots are used up.
const allocatableSeconds = 60

// Namespace is where the driver is. Its pods on nodes are privileged, which the namespace has to allow.
func Namespace(c Config) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: typeMeta(corev1.SchemeGroupVersion, "Namespace"),
		ObjectMeta: metav1.ObjectMeta{
			Name:   c.withDefaults().Namespace,
			Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
		},
	}
}

// Driver is what Kubernetes has to know of the driver: volumes have to be attached, pods are not its business.
func Driver(c Config) *storagev1.CSIDriver {
	policy := c.withDefaults().FSGroupPolicy
	return &storagev1.CSIDriver{
		TypeMeta:   typeMeta(storagev1.SchemeGroupVersion, "CSIDriver"),
		ObjectMeta: metav1.ObjectMeta{Name: names.Driver},
		Spec: storagev1.CSIDriverSpec{
			AttachRequired:                     new(true),
			PodInfoOnMount:                     new(false),
			VolumeLifecycleModes:               []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
			FSGroupPolicy:                      &policy,
			NodeAllocatableUpdatePeriodSeconds: new(int64(allocatableSeconds)),
		},
	}
}
