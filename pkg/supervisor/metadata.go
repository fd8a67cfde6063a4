package supervisor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// reconcileMetadata writes an object of a guest cluster into CNS's records of its volumes, and removes it at the end.
func (st storage) reconcileMetadata(ctx context.Context, key string) error {
	o, err := st.get(volumeMetadata(), key)
	if o == nil || err != nil {
		return err
	}
	client := st.dynamic.Resource(volumeMetadata()).Namespace(o.GetNamespace())
	gone, kept := o.GetDeletionTimestamp() != nil, slices.Contains(o.GetFinalizers(), cnsFinalizer)
	if !gone && !kept {
		o.SetFinalizers(append(o.GetFinalizers(), cnsFinalizer))
		_, err := client.Update(ctx, o, metav1.UpdateOptions{})
		return err // the change leads here again
	}
	if gone && !kept {
		return nil
	}
	list, errs := st.record(ctx, o, gone)
	if gone {
		if err := errors.Join(errs...); err != nil {
			return err
		}
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == cnsFinalizer }))
		_, err := client.Update(ctx, o, metav1.UpdateOptions{})
		return client404(err)
	}
	if before, _, _ := unstructured.NestedSlice(o.Object, "status", "volumestatus"); !reflect.DeepEqual(before, list) {
		o.Object["status"] = map[string]any{"volumestatus": list}
		if _, err := client.UpdateStatus(ctx, o, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// record writes or removes the object for each of its volumes. A volume that is gone needs no removal.
func (st storage) record(ctx context.Context, o *unstructured.Unstructured, remove bool) (status []any, errs []error) {
	names, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "volumenames")
	for i, name := range names {
		id, err := st.handle(o.GetNamespace(), name)
		switch {
		case err != nil:
		case id == "" && !remove:
			err = fmt.Errorf("PersistentVolumeClaim %s is not bound", name)
		case id != "":
			err = st.opts.Storage.RecordEntity(ctx, id, entityOf(o, i), remove)
		}
		one := map[string]any{"volumename": name, "updated": err == nil}
		if err != nil {
			one["errormessage"] = err.Error()
			errs = append(errs, err)
		}
		status = append(status, one)
	}
	return status, errs
}

// entityOf returns the object that a CnsVolumeMetadata describes, for its volume with that number.
func entityOf(o *unstructured.Unstructured, volume int) Entity {
	e := Entity{
		Cluster: text(o, "spec", "guestclusterid"), Kind: text(o, "spec", "entitytype"), Namespace: text(o, "spec", "namespace"), Name: text(o, "spec", "entityname"),
	}
	e.Labels, _, _ = unstructured.NestedStringMap(o.Object, "spec", "labels")
	references, _, _ := unstructured.NestedSlice(o.Object, "spec", "entityreferences")
	if volume < len(references) {
		r, _ := references[volume].(map[string]any)
		of := func(key string) string { s, _ := r[key].(string); return s }
		if of("ClusterID") == e.Cluster { // a PersistentVolume refers to the Supervisor's claim, which is of another cluster
			e.Refers = EntityRef{Kind: of("EntityType"), Namespace: of("Namespace"), Name: of("EntityName")}
		}
	}
	return e
}
