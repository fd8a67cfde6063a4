package supervisor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// get returns a copy of an object; nil if it does not exist.
func (s *Supervisor) get(gvr schema.GroupVersionResource, key string) (*unstructured.Unstructured, error) {
	namespace, name := split(key)
	o, err := s.lister(gvr).ByNamespace(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return asObject(o).DeepCopy(), nil
}

func asObject(o runtime.Object) *unstructured.Unstructured { return o.(*unstructured.Unstructured) }

// list returns the objects of a namespace, which the caller must not change.
func (s *Supervisor) list(gvr schema.GroupVersionResource, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	list, err := s.lister(gvr).ByNamespace(namespace).List(selector)
	all := make([]*unstructured.Unstructured, len(list))
	for i, o := range list {
		all[i] = asObject(o)
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all, err
}

func text(o *unstructured.Unstructured, fields ...string) string {
	v, _, _ := unstructured.NestedString(o.Object, fields...)
	return v
}

// reconcileMachine makes a VirtualMachine true: it has a VM with its power state, and the status of that VM.
func (s *Supervisor) reconcileMachine(ctx context.Context, key string) error {
	o, err := s.get(machines(), key)
	if o == nil || err != nil {
		return err
	}
	if o.GetDeletionTimestamp() != nil {
		return s.deleteMachine(ctx, o)
	}
	if changed := s.fillIn(o); changed {
		_, err := s.dynamic.Resource(machines()).Namespace(o.GetNamespace()).Update(ctx, o, metav1.UpdateOptions{})
		return err // the change leads here again
	}
	vm, found := s.vmOf(o)
	if !found {
		return s.createVM(ctx, o)
	}
	if err := s.powerVM(ctx, o, vm); err != nil {
		return err
	}
	volumes, err := storage{s}.attach(ctx, o, vm)
	if err != nil {
		return err
	}
	return s.writeStatus(ctx, o, func(status map[string]any) {
		fillStatus(o, status, vm)
		setVolumes(status, volumes)
	})
}

// fillIn adds what VM Operator's webhook and its first pass add to a VirtualMachine.
func (s *Supervisor) fillIn(o *unstructured.Unstructured) (changed bool) {
	if !slices.Contains(o.GetFinalizers(), machineFinalizer) {
		o.SetFinalizers(append(o.GetFinalizers(), machineFinalizer))
		changed = true
	}
	set := func(value string, fields ...string) {
		if text(o, fields...) == "" && value != "" {
			_ = unstructured.SetNestedField(o.Object, value, fields...) // spec is an object by the schema
			changed = true
		}
	}
	set(poweredOn, "spec", "powerState")
	set(string(o.GetUID()), "spec", "instanceUUID")
	set(biosUUID(string(o.GetUID())), "spec", "biosUUID")
	if o.GetLabels()[ZoneLabel] == "" {
		if zone := s.zoneFor(o); zone != "" {
			all := o.GetLabels()
			if all == nil {
				all = map[string]string{}
			}
			all[ZoneLabel] = zone
			o.SetLabels(all)
			changed = true
		}
	}
	return changed
}

// biosUUID derives a BIOS UUID from another UUID: the first byte is vSphere's.
func biosUUID(uid string) string { return "42" + uid[min(2, len(uid)):] }

// vmOf returns the VM of a VirtualMachine: by the reference in its status or, before it has one, by its name.
func (s *Supervisor) vmOf(o *unstructured.Unstructured) (VM, bool) {
	if id := text(o, "status", "uniqueID"); id != "" {
		if vm, ok := s.opts.VCenter.VM(id); ok {
			return vm, true
		}
	}
	for _, vm := range s.opts.VCenter.ByName(o.GetName()) {
		if !s.claimed(vm, o) {
			return vm, true
		}
	}
	return VM{}, false
}

// claimed reports whether a VM is another VirtualMachine's.
func (s *Supervisor) claimed(vm VM, by *unstructured.Unstructured) bool {
	for _, n := range s.opts.Setup.Namespaces {
		other, err := s.get(machines(), n.Name+"/"+vm.Name)
		if err == nil && other != nil && other.GetUID() != by.GetUID() && text(other, "status", "uniqueID") == vm.UniqueID {
			return true
		}
	}
	return false
}

// deleteMachine destroys the VM, and lets the object go when that is gone.
func (s *Supervisor) deleteMachine(ctx context.Context, o *unstructured.Unstructured) error {
	if !slices.Contains(o.GetFinalizers(), machineFinalizer) {
		return nil
	}
	if done, err := (storage{s}).detachAll(ctx, o); !done || err != nil {
		return err // the end of the last attachment leads here again
	}
	if vm, found := s.vmOf(o); found {
		if err := s.opts.VCenter.Destroy(ctx, vm); err != nil {
			return fmt.Errorf("destroy VM %s: %w", vm.Name, err)
		}
	}
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == machineFinalizer }))
	_, err := s.dynamic.Resource(machines()).Namespace(o.GetNamespace()).Update(ctx, o, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// createVM clones the image of a VirtualMachine. What it lacks is in its conditions.
func (s *Supervisor) createVM(ctx context.Context, o *unstructured.Unstructured) error {
	template, missing := s.prerequisites(o)
	if len(missing) > 0 {
		return s.writeStatus(ctx, o, func(status map[string]any) {
			for _, m := range missing {
				setCondition(status, m.kind, "False", m.reason, m.message)
			}
			setCondition(status, "VirtualMachineCreated", "False", "NotCreated", missing[0].message)
		})
	}
	cpus, memory := size(text(o, "spec", "className"))
	spec := Spec{
		Name: o.GetName(), Image: template, Zone: o.GetLabels()[ZoneLabel], CPUs: cpus, MemoryMiB: memory,
		BIOSUUID: text(o, "spec", "biosUUID"), InstanceUUID: text(o, "spec", "instanceUUID"),
	}
	if !s.zones.begin(o.GetNamespace() + "/" + o.GetName()) {
		return nil // it is being created: the change of the VM leads here
	}
	defer s.zones.done(o.GetNamespace() + "/" + o.GetName())
	if err := s.opts.VCenter.Create(ctx, spec); err != nil {
		message := err.Error()
		if err := s.writeStatus(ctx, o, func(status map[string]any) { setCondition(status, "VirtualMachineCreated", "False", "Error", message) }); err != nil {
			return err
		}
		return fmt.Errorf("create VM %s: %w", o.GetName(), err)
	}
	return s.writeStatus(ctx, o, func(status map[string]any) {
		for _, kind := range []string{"VirtualMachineClassReady", "VirtualMachineImageReady", "VirtualMachineStorageReady", "VirtualMachineConditionPlacementReady", "VirtualMachineCreated"} {
			setCondition(status, kind, "True", "True", "")
		}
	})
}

// lack is a condition of a VirtualMachine that is false.
type lack struct{ kind, reason, message string }

// prerequisites returns the template to clone, or what the spec lacks.
func (s *Supervisor) prerequisites(o *unstructured.Unstructured) (template string, missing []lack) {
	var namespace Namespace
	for _, n := range s.opts.Setup.Namespaces {
		if n.Name == o.GetNamespace() {
			namespace = n
		}
	}
	if class := text(o, "spec", "className"); !slices.Contains(namespace.Classes, class) {
		missing = append(missing, lack{"VirtualMachineClassReady", "NotFound", fmt.Sprintf("VirtualMachineClass %q not found in namespace %s", class, namespace.Name)})
	}
	image := cmp.Or(text(o, "spec", "image", "name"), text(o, "spec", "imageName"))
	for _, known := range s.opts.Setup.Images {
		if image == known || image == imageName(known) {
			template = known
		}
	}
	if template == "" {
		missing = append(missing, lack{"VirtualMachineImageReady", "NotFound", fmt.Sprintf("VirtualMachineImage %q not found", image)})
	}
	if policy := text(o, "spec", "storageClass"); policy != "" && !slices.Contains(namespace.StoragePolicies, policy) {
		missing = append(missing, lack{"VirtualMachineStorageReady", "NotFound", fmt.Sprintf("StorageClass %q is not assigned to namespace %s", policy, namespace.Name)})
	}
	if zone := o.GetLabels()[ZoneLabel]; !slices.Contains(namespace.Zones, zone) {
		missing = append(missing, lack{"VirtualMachineConditionPlacementReady", "NotReady", fmt.Sprintf("zone %q is not assigned to namespace %s", zone, namespace.Name)})
	}
	return template, missing
}

// zoneFor returns the zone of a new VirtualMachine: that of its VM or, without one, the zone of its namespace with the fewest.
func (s *Supervisor) zoneFor(o *unstructured.Unstructured) string {
	if vm, found := s.vmOf(o); found {
		return vm.Zone
	}
	count := map[string]int{}
	all, _ := s.list(machines(), o.GetNamespace(), labels.Everything())
	for _, other := range all {
		count[other.GetLabels()[ZoneLabel]]++
	}
	best := ""
	for _, n := range s.opts.Setup.Namespaces {
		if n.Name != o.GetNamespace() {
			continue
		}
		for _, zone := range n.Zones {
			if best == "" || count[zone] < count[best] {
				best = zone
			}
		}
	}
	return best
}

// zoning remembers which VMs are being created. The zero value remembers none.
type zoning struct {
	mu       sync.Mutex
	creating map[string]bool
}

func (z *zoning) begin(key string) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.creating[key] {
		return false
	}
	if z.creating == nil {
		z.creating = map[string]bool{}
	}
	z.creating[key] = true
	return true
}

func (z *zoning) done(key string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.creating, key)
}

// powerVM makes the power state of a VM that of the spec.
func (s *Supervisor) powerVM(ctx context.Context, o *unstructured.Unstructured, vm VM) error {
	want := text(o, "spec", "powerState")
	if want == "" || vm.Power == "" || want == powerState(vm.Power) {
		return nil
	}
	power := map[string]string{poweredOn: "on", poweredOff: "off", suspended: "suspended"}[want]
	if err := s.opts.VCenter.SetPower(ctx, vm, power); err != nil {
		return fmt.Errorf("power of VM %s: %w", vm.Name, err)
	}
	return nil
}
