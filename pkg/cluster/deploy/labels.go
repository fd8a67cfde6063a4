package deploy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Namespace is where everything is that upstream has no place for.
const Namespace = "vsphere-sandbox"

const (
	// ManagedByLabel marks everything that was made here.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is its value.
	ManagedBy = "vsphere-sandbox"
	// InstanceLabel says of which sandbox it is, where [Options.Instance] does.
	InstanceLabel = "app.kubernetes.io/instance"
	// selectOurs is what has the mark.
	selectOurs = ManagedByLabel + "=" + ManagedBy

	// partLabel says what an object belongs to.
	partLabel = "vsphere-sandbox/part"
	partCCM   = "ccm"
	partCSI   = "csi"
	partVC    = "vcenters"
)

// fieldManager owns the fields of applied objects. ownerManager owns only the labels of another project's objects, and
// contentManager the contents that replace the examples in such a manifest.
const (
	fieldManager   = "vsphere-sandbox"
	ownerManager   = "vsphere-sandbox-owner"
	contentManager = "vsphere-sandbox-content"
)

// mark sets the labels of an object.
func mark(o *unstructured.Unstructured, part string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[ManagedByLabel], labels[partLabel] = ManagedBy, part
	o.SetLabels(labels)
}

// stamp says on an object that is written of which sandbox it is.
func (d *Deployment) stamp(o *unstructured.Unstructured) {
	if d.instance == "" {
		return
	}
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[InstanceLabel] = d.instance
	o.SetLabels(labels)
}

// selector selects what was made here: of the instance alone, if there is one.
func (d *Deployment) selector() string {
	if d.instance == "" {
		return selectOurs
	}
	return selectOurs + "," + InstanceLabel + "=" + d.instance
}

// ours reports whether this program created an object. An object of another project's manifest gets its labels after its
// creation, and a process may end between the two: so its field managers count too.
func ours(o metav1.Object) bool {
	if o.GetLabels()[ManagedByLabel] == ManagedBy {
		return true
	}
	for _, f := range o.GetManagedFields() {
		if f.Manager == fieldManager {
			return true
		}
	}
	return false
}
