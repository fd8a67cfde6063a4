package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// atOnce is how many objects are applied at the same time.
const atOnce = 16

// resource returns the API resource of an object. Without a namespace a namespaced object gets "default", as in kubectl.
func (d *Deployment) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	m, err := d.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) { // its definition may be a moment old
		d.mapper.Reset()
		m, err = d.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(o), err)
	}
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		return d.dynamic.Resource(m.Resource), nil
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	return d.dynamic.Resource(m.Resource).Namespace(o.GetNamespace()), nil
}

// title names an object in messages.
func title(o *unstructured.Unstructured) string {
	name := o.GetName()
	if ns := o.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return strings.ToLower(o.GetKind()) + " " + name
}

// NotOwnedError means that objects with the required names exist and belong to another owner. Nothing was changed.
type NotOwnedError struct {
	// Objects are these objects: "daemonset kube-system/vsphere-cloud-controller-manager".
	Objects []string
}

// Error lists them.
func (e *NotOwnedError) Error() string {
	return "the cluster has objects of another owner that the sandbox would have to replace: " + strings.Join(e.Objects, ", ") +
		"; remove them first, or use another cluster"
}

// shared reports whether several installations share objects of this kind: an existing one is used as it is.
func shared(o *unstructured.Unstructured) bool {
	return o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "Namespace"
}

// claim checks for existing objects of the same names. It returns the objects to apply: all but shared ones of other owners.
func (d *Deployment) claim(ctx context.Context, all []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var mu sync.Mutex
	var foreign []string
	skip := map[*unstructured.Unstructured]bool{}
	err := each(ctx, all, func(ctx context.Context, o *unstructured.Unstructured) error {
		into, err := d.resource(o)
		if meta.IsNoMatchError(err) {
			return nil // without the kind there is no such object
		}
		if err != nil {
			return err
		}
		existing, err := into.Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil || ours(existing) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if shared(o) {
			skip[o] = true
		} else {
			foreign = append(foreign, title(o))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(foreign) > 0 {
		slices.Sort(foreign)
		return nil, &NotOwnedError{Objects: foreign}
	}
	return slices.DeleteFunc(slices.Clone(all), func(o *unstructured.Unstructured) bool { return skip[o] }), nil
}

// each calls f for all objects, [atOnce] at a time, and names the object in an error.
func each(ctx context.Context, all []*unstructured.Unstructured, f func(context.Context, *unstructured.Unstructured) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, o := range all {
		g.Go(func() error {
			if err := f(ctx, o); err != nil {
				return fmt.Errorf("%s: %w", title(o), err)
			}
			return nil
		})
	}
	return g.Wait()
}

// install applies objects of ours in phases: dependencies first.
func (d *Deployment) install(ctx context.Context, all []*unstructured.Unstructured) error {
	all, err := d.claim(ctx, all)
	if err != nil {
		return err
	}
	for _, phase := range phases(all) {
		if err := each(ctx, phase, d.apply); err != nil {
			return err
		}
	}
	return nil
}

// phases splits objects into groups that can be applied in parallel.
func phases(all []*unstructured.Unstructured) [][]*unstructured.Unstructured {
	parted := make([][]*unstructured.Unstructured, 5)
	for _, o := range all {
		i := 1
		switch {
		case o.GetKind() == "Namespace":
			i = 0
		case o.GetKind() == "RoleBinding", o.GetKind() == "ClusterRoleBinding":
			i = 2 // the API server compares its role with the permissions of the user that binds it
		case isWorkload(o):
			i = 3 // needs its account and its configuration
		case o.GetKind() == "VolumeSnapshotClass":
			i = 4 // needs its CRD
		}
		parted[i] = append(parted[i], o)
	}
	return parted
}

// apply creates or updates one object as ours.
func (d *Deployment) apply(ctx context.Context, o *unstructured.Unstructured) error {
	into, err := d.resource(o)
	if err != nil {
		return err
	}
	if isWorkload(o) {
		if err := d.clear(ctx, into, o); err != nil {
			return err
		}
	}
	d.stamp(o)
	made, err := serverSide(ctx, into, o, fieldManager)
	if err != nil {
		return err
	}
	if isWorkload(o) {
		d.tracker.ask(made)
	}
	if o.GetKind() == "CustomResourceDefinition" {
		return Established(ctx, into, o.GetName())
	}
	return nil
}

// serverSide applies an object, and returns the result.
func serverSide(ctx context.Context, into dynamic.ResourceInterface, o *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	return into.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: manager, Force: true})
}

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
