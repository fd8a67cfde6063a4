package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/artifacts"
)

// apiTime is how long the API server may take for one list: it may have been broken on purpose.
const apiTime = 10 * time.Second

// objects fetches what tells of nodes and volumes. Secrets are never asked for.
func objects(ctx context.Context, d *artifacts.Dir, n int, status api.Status) error {
	if status.Kubeconfig == "" {
		return nil // vCenters only
	}
	config, err := clientcmd.BuildConfigFromFlags("", status.Kubeconfig)
	if err != nil {
		return err
	}
	config.Timeout = apiTime
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return errors.Join(
		fetch(ctx, d, n, "nodes", c.CoreV1().Nodes().List),
		fetch(ctx, d, n, "pods", c.CoreV1().Pods("").List),
		fetch(ctx, d, n, "events", c.CoreV1().Events("").List),
		fetch(ctx, d, n, "configmaps", c.CoreV1().ConfigMaps("").List),
		fetch(ctx, d, n, "leases", c.CoordinationV1().Leases("").List),
		fetch(ctx, d, n, "persistentvolumes", c.CoreV1().PersistentVolumes().List),
		fetch(ctx, d, n, "persistentvolumeclaims", c.CoreV1().PersistentVolumeClaims("").List),
		fetch(ctx, d, n, "volumeattachments", c.StorageV1().VolumeAttachments().List),
		fetch(ctx, d, n, "csinodes", c.StorageV1().CSINodes().List),
	)
}

// fetch writes a list as kubectl get -o yaml does, without who manages which field. Nothing is written of an empty one.
func fetch[L runtime.Object](ctx context.Context, d *artifacts.Dir, n int, what string, list func(context.Context, metav1.ListOptions) (L, error)) error {
	ctx, cancel := context.WithTimeout(ctx, apiTime)
	defer cancel()
	all, err := list(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if meta.LenList(all) == 0 {
		return nil
	}
	err = meta.EachListItem(all, func(o runtime.Object) error {
		m, err := meta.Accessor(o)
		if err != nil {
			return err
		}
		m.SetManagedFields(nil)
		return identify(o)
	})
	if err != nil {
		return err
	}
	if err := identify(all); err != nil {
		return err
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		return err
	}
	return d.Write(name("objects", n, what, "yaml"), text)
}

// identify writes apiVersion and kind into an object, which clients leave out.
func identify(o runtime.Object) error {
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		return err
	}
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
	return nil
}
