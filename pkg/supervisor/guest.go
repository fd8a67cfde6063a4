package supervisor

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func clusters() schema.GroupVersionResource {
	return resource("cluster.x-k8s.io", "v1beta1", "clusters")
}

// setUpGuest creates the account of a guest cluster and its VirtualMachines.
func (s *Supervisor) setUpGuest(ctx context.Context, g Guest, n Namespace) error {
	cluster := object(clusters(), "Cluster", g.Namespace, g.Name, map[string]any{})
	if err := s.create(ctx, cluster); err != nil {
		return err
	}
	if err := s.grant(ctx, g); err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(16)
	for _, vm := range g.VMs {
		all.Go(func() error { return s.create(ctx, s.machine(g, n, vm)) })
	}
	return all.Wait()
}

// machine returns the VirtualMachine of a VM that exists, as Cluster API makes one.
func (s *Supervisor) machine(g Guest, n Namespace, vm GuestVM) item {
	role := RoleNode
	if vm.ControlPlane {
		role = RoleControlPlane
	}
	spec := map[string]any{
		"className": n.Classes[0], "powerState": poweredOn, "powerOffMode": "TrySoft",
		"bootstrap": map[string]any{"cloudInit": map[string]any{"rawCloudConfig": map[string]any{"name": vm.Name, "key": "user-data"}}},
	}
	if len(n.StoragePolicies) > 0 {
		spec["storageClass"] = n.StoragePolicies[0]
	}
	if len(s.opts.Setup.Images) > 0 {
		spec["imageName"] = imageName(s.opts.Setup.Images[0])
	}
	for _, known := range s.opts.VCenter.ByName(vm.Name) {
		spec["biosUUID"], spec["instanceUUID"], spec["powerState"] = known.BIOSUUID, known.InstanceUUID, powerState(known.Power)
	}
	i := object(machines(), "VirtualMachine", g.Namespace, vm.Name, spec)
	i.SetLabels(map[string]string{
		ClusterLabel: g.Name, RoleLabel: role, legacyClusterLabel: g.Name, legacyRoleLabel: role, ZoneLabel: vm.Zone,
	})
	i.SetFinalizers([]string{machineFinalizer})
	return i
}

// Owner returns the owner reference of what belongs to a guest cluster.
func (s *Supervisor) Owner(ctx context.Context, g Guest) (metav1.OwnerReference, error) {
	o, err := s.dynamic.Resource(clusters()).Namespace(g.Namespace).Get(ctx, g.Name, metav1.GetOptions{})
	if err != nil {
		return metav1.OwnerReference{}, fmt.Errorf("guest cluster %s: %w", g.Name, err)
	}
	return ownerReference(o), nil
}

func ownerReference(o *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID()}
}

// Forbid deletes the RoleBindings of guest clusters, Permit creates them again.
func (s *Supervisor) Forbid(ctx context.Context) error {
	var errs []error
	for _, g := range s.opts.Setup.Guests {
		for _, a := range addOns() {
			errs = append(errs, client404(s.core.RbacV1().RoleBindings(g.Namespace).Delete(ctx, a.account(g.Name), metav1.DeleteOptions{})))
		}
	}
	return errors.Join(errs...)
}

// Permit ends what [Supervisor.Forbid] did.
func (s *Supervisor) Permit(ctx context.Context) error {
	var errs []error
	for _, g := range s.opts.Setup.Guests {
		errs = append(errs, s.grant(ctx, g))
	}
	return errors.Join(errs...)
}

// Machine returns the namespace of the VirtualMachine with that name, and whether there is one.
func (s *Supervisor) Machine(name string) (namespace string, found bool) {
	for _, n := range s.opts.Setup.Namespaces {
		if o, err := s.get(machines(), n.Name+"/"+name); err == nil && o != nil {
			return n.Name, true
		}
	}
	return "", false
}

// DeleteMachine deletes the VirtualMachine with that name.
func (s *Supervisor) DeleteMachine(ctx context.Context, name string) error {
	namespace, found := s.Machine(name)
	if !found {
		return fmt.Errorf("VirtualMachine %s does not exist", name)
	}
	return s.dynamic.Resource(machines()).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}
