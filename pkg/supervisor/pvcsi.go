package supervisor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects and files of a guest cluster's CSI driver, as upstream's guest manifests have them.
const (
	// StorageNamespace has them.
	StorageNamespace = "vmware-system-csi"
	storageSecret    = "pvcsi-provider-creds"
	storageConfigMap = "pvcsi-config"
	// StorageCredentialsDir is the folder of [Place].Dir that is like the mounted Secret, StorageConfigFile the configuration.
	StorageCredentialsDir = "pvcsi-provider"
	StorageConfigFile     = "pvcsi-config/cns-csi.conf"
	// distribution is the guest cluster's, in a label of its claims.
	distribution = "TKGService"
)

// storageConfig returns cns-csi.conf: the Supervisor, and what the guest cluster is there.
func (p Place) storageConfig(owner metav1.OwnerReference) string {
	return fmt.Sprintf(`[GC]
endpoint = %q
port = "%d"
tanzukubernetescluster-uid = %q
tanzukubernetescluster-name = %q
cluster-distribution = %q
cluster-api-version = %q
cluster-kind = %q
`, Host, p.Port, owner.UID, owner.Name, distribution, owner.APIVersion, owner.Kind)
}

// storageObjects creates the namespace of the CSI driver in the guest cluster, and its configuration.
func (p Place) storageObjects(ctx context.Context, conf string) error {
	core := p.Cluster.CoreV1()
	_, namespace := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: StorageNamespace}}, metav1.CreateOptions{})
	_, config := core.ConfigMaps(StorageNamespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: storageConfigMap}, Data: map[string]string{filepath.Base(StorageConfigFile): conf},
	}, metav1.CreateOptions{})
	return errors.Join(unlessExists(namespace), unlessExists(config))
}
