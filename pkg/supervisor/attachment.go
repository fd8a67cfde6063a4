package supervisor

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// detaching follows the name of a volume in the status of a VirtualMachine whose spec does not have it any more.
const detaching = ":detaching"

// keys of the metadata of a CnsNodeVmAttachment.
const (
	attachedVolume = "cnsVolumeId"
	attachedDisk   = "diskUUID"
)

// attach makes the CnsNodeVmAttachments of a VirtualMachine those of its spec, as VM Operator does, and returns the volumes of its
// status.
func (st storage) attach(ctx context.Context, o *unstructured.Unstructured, vm VM) (status []any, err error) {
	if st.lister(attachments()) == nil { // the Supervisor starts: the volumes stay as they were
		status, _, _ = unstructured.NestedSlice(o.Object, "status", "volumes")
		return status, nil
	}
	have, err := st.attachmentsOf(o)
	if err != nil {
		return nil, err
	}
	spec, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumes")
	for _, v := range spec {
		volume, _ := v.(map[string]any)
		name, _ := volume["name"].(string)
		claim, _, _ := unstructured.NestedString(volume, "persistentVolumeClaim", "claimName")
		if claim == "" {
			continue
		}
		a := have[name]
		delete(have, name)
		switch {
		case a == nil:
			if err := st.create(ctx, attachment(o, vm, name, claim)); err != nil {
				return nil, err
			}
			status = append(status, volumeStatus(name, nil))
		case a.GetDeletionTimestamp() != nil: // it was removed and added: first the one, then the other
			status = append(status, volumeStatus(name+detaching, a))
		default:
			status = append(status, volumeStatus(name, a))
		}
	}
	gone, err := st.detach(ctx, have)
	return append(status, gone...), err
}

// detach deletes attachments, and returns them for the status.
func (st storage) detach(ctx context.Context, all map[string]*unstructured.Unstructured) (status []any, err error) {
	for name, a := range all {
		status = append(status, volumeStatus(name+detaching, a))
		if a.GetDeletionTimestamp() == nil {
			err = client404(st.dynamic.Resource(attachments()).Namespace(a.GetNamespace()).Delete(ctx, a.GetName(), metav1.DeleteOptions{}))
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(status, func(a, b any) int {
		return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
	})
	return status, nil
}

// detachAll detaches all volumes of a VirtualMachine that must be deleted, and reports whether that is done.
func (st storage) detachAll(ctx context.Context, o *unstructured.Unstructured) (done bool, err error) {
	if st.lister(attachments()) == nil {
		return false, fmt.Errorf("the attachments of VirtualMachine %s are not known yet", o.GetName())
	}
	have, err := st.attachmentsOf(o)
	if err != nil {
		return false, err
	}
	_, err = st.detach(ctx, have)
	return len(have) == 0, err
}

// attachmentsOf returns the CnsNodeVmAttachments of a VirtualMachine, by the names of their volumes.
func (st storage) attachmentsOf(o *unstructured.Unstructured) (map[string]*unstructured.Unstructured, error) {
	all, err := st.list(attachments(), o.GetNamespace(), labels.Everything())
	if err != nil {
		return nil, err
	}
	of := map[string]*unstructured.Unstructured{}
	for _, a := range all {
		if owner := metav1.GetControllerOf(a); owner != nil && owner.UID == o.GetUID() {
			of[strings.TrimPrefix(a.GetName(), o.GetName()+"-")] = a
		}
	}
	return of, nil
}

// attachment returns the CnsNodeVmAttachment of a volume of a VirtualMachine.
func attachment(o *unstructured.Unstructured, vm VM, volume, claim string) item {
	i := object(attachments(), "CnsNodeVmAttachment", o.GetNamespace(), o.GetName()+"-"+volume, map[string]any{
		"nodeuuid": vm.BIOSUUID, "volumename": claim,
	})
	i.SetFinalizers([]string{cnsFinalizer})
	owner := metav1.NewControllerRef(o, schema.FromAPIVersionAndKind(vmGroup+"/"+vmVersion, "VirtualMachine"))
	i.SetOwnerReferences([]metav1.OwnerReference{*owner})
	return i
}

// volumeStatus is a volume in the status of a VirtualMachine.
func volumeStatus(name string, a *unstructured.Unstructured) map[string]any {
	v := map[string]any{"name": name, "type": "Managed", "attached": false}
	if a == nil {
		return v
	}
	v["attached"], _, _ = unstructured.NestedBool(a.Object, "status", "attached")
	for field, value := range map[string]string{"diskUUID": text(a, "status", "metadata", attachedDisk), "error": text(a, "status", "error")} {
		if value != "" {
			v[field] = value
		}
	}
	return v
}

// setVolumes writes volumes into the status of a VirtualMachine.
func setVolumes(status map[string]any, volumes []any) {
	if len(volumes) == 0 {
		delete(status, "volumes")
		return
	}
	status["volumes"] = volumes
}

// reconcileAttachment attaches a volume, or detaches it when the object must be deleted.
func (st storage) reconcileAttachment(ctx context.Context, key string) error {
	o, err := st.get(attachments(), key)
	if o == nil || err != nil {
		return err
	}
	vm, found := st.nodeOf(o)
	if o.GetDeletionTimestamp() != nil {
		return st.endAttachment(ctx, o, vm, found)
	}
	if attached, _, _ := unstructured.NestedBool(o.Object, "status", "attached"); attached {
		return nil
	}
	id, err := st.handle(o.GetNamespace(), text(o, "spec", "volumename"))
	switch {
	case err != nil:
	case id == "":
		err = fmt.Errorf("PersistentVolumeClaim %s is not bound", text(o, "spec", "volumename"))
	case !found:
		err = fmt.Errorf("no VirtualMachine of namespace %s has the UUID %s", o.GetNamespace(), text(o, "spec", "nodeuuid"))
	default:
		var disk string
		if disk, err = st.opts.Storage.AttachVolume(ctx, id, vm); err == nil {
			return st.writeAttachment(ctx, o, map[string]any{"attached": true, "metadata": map[string]any{attachedVolume: id, attachedDisk: disk}})
		}
	}
	return st.failAttachment(ctx, o, false, err)
}

// endAttachment detaches the volume and lets the object go.
func (st storage) endAttachment(ctx context.Context, o *unstructured.Unstructured, vm VM, found bool) error {
	if !slices.Contains(o.GetFinalizers(), cnsFinalizer) {
		return nil
	}
	id := text(o, "status", "metadata", attachedVolume)
	if id == "" {
		var err error
		if id, err = st.handle(o.GetNamespace(), text(o, "spec", "volumename")); err != nil {
			return err
		}
	}
	if found && id != "" {
		if err := st.opts.Storage.DetachVolume(ctx, id, vm); err != nil {
			attached, _, _ := unstructured.NestedBool(o.Object, "status", "attached")
			return st.failAttachment(ctx, o, attached, err)
		}
	}
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == cnsFinalizer }))
	_, err := st.dynamic.Resource(attachments()).Namespace(o.GetNamespace()).Update(ctx, o, metav1.UpdateOptions{})
	return client404(err)
}

// nodeOf returns the VM of an attachment.
func (st storage) nodeOf(a *unstructured.Unstructured) (VM, bool) {
	all, err := st.list(machines(), a.GetNamespace(), labels.Everything())
	if err != nil {
		return VM{}, false
	}
	uuid := text(a, "spec", "nodeuuid")
	for _, m := range all {
		if text(m, "status", "biosUUID") == uuid || text(m, "status", "instanceUUID") == uuid {
			return st.vmOf(m)
		}
	}
	return VM{}, false
}

// failAttachment writes an error, and returns it for another attempt.
func (st storage) failAttachment(ctx context.Context, o *unstructured.Unstructured, attached bool, err error) error {
	status := map[string]any{"attached": attached, "error": err.Error()}
	if metadata, has, _ := unstructured.NestedMap(o.Object, "status", "metadata"); has {
		status["metadata"] = metadata
	}
	if failed := st.writeAttachment(ctx, o, status); failed != nil {
		return failed
	}
	return err
}

func (st storage) writeAttachment(ctx context.Context, o *unstructured.Unstructured, status map[string]any) error {
	if reflect.DeepEqual(o.Object["status"], status) {
		return nil
	}
	o.Object["status"] = status
	_, err := st.dynamic.Resource(attachments()).Namespace(o.GetNamespace()).UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}
