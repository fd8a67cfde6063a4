package existing

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// provisioner is the annotation that names the driver of a PersistentVolume or a claim.
const (
	provisioner      = "pv.kubernetes.io/provisioned-by"
	claimProvisioner = "volume.kubernetes.io/storage-provisioner"
)

// volumes takes away what the cluster knows of volumes that go with the sandbox: PersistentVolumes of its driver and their
// attachments, whose finalizers nobody is left to take off. Guard has seen to it that they are of no other driver of that
// name. Claims are users' objects and stay; they are returned.
func (r remover) volumes(ctx context.Context, say func(string)) (left []string, err error) {
	pvs := made{"PersistentVolume", schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}, true}
	attachments := made{"VolumeAttachment", schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "volumeattachments"}, true}
	claims := made{"PersistentVolumeClaim", schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}, false}

	doomed, err := r.annotated(ctx, pvs, provisioner)
	if err != nil || len(doomed) == 0 {
		return nil, err
	}
	say(fmt.Sprintf("removing %d volumes", len(doomed)))
	// An attachment is told by its driver's finalizer: "external-attacher/csi-vsphere-vmware-com".
	list, err := r.client.Resource(attachments.resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, a := range list.Items {
		for _, f := range a.Finalizers {
			if f == "external-attacher/csi-vsphere-vmware-com" {
				doomed = append([]object{{attachments, a.ObjectMeta}}, doomed...)
				break
			}
		}
	}
	if err := each(ctx, doomed, r.free); err != nil {
		return nil, err
	}
	if err := r.gone(ctx, doomed); err != nil {
		return nil, err
	}
	users, err := r.annotated(ctx, claims, claimProvisioner)
	for _, o := range users {
		left = append(left, o.String())
	}
	return left, err
}

// free takes the finalizers off an object.
func (r remover) free(ctx context.Context, o object) error {
	none := []byte(`{"metadata":{"finalizers":null}}`)
	_, err := r.at(o).Patch(ctx, o.meta.Name, types.MergePatchType, none, metav1.PatchOptions{FieldManager: fieldManager})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// unguard takes the finalizers off the objects of kinds that go: snapshots, whose controller is gone. They go with their kind,
// and there were none before the sandbox brought it.
func (r remover) unguard(ctx context.Context, definitions []object) error {
	for _, d := range definitions {
		plural, group, _ := strings.Cut(d.meta.Name, ".")
		if group != "snapshot.storage.k8s.io" {
			continue
		}
		k := made{plural, schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}, false}
		list, err := r.client.Resource(k.resource).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.meta.Name, err)
		}
		var guarded []object
		for _, o := range list.Items {
			if len(o.Finalizers) > 0 {
				guarded = append(guarded, object{k, o.ObjectMeta})
			}
		}
		if err := each(ctx, guarded, r.free); err != nil {
			return err
		}
	}
	return nil
}

// annotated returns the objects of a kind that an annotation says are the driver's.
func (r remover) annotated(ctx context.Context, k made, annotation string) ([]object, error) {
	list, err := r.client.Resource(k.resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.resource.Resource, err)
	}
	var all []object
	for _, o := range list.Items {
		if o.Annotations[annotation] == driver {
			all = append(all, object{k, o.ObjectMeta})
		}
	}
	return all, nil
}
