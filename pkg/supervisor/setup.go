package supervisor

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// setUp creates objects for each namespace. Those of an earlier start stay.
func (s *Supervisor) setUp(ctx context.Context, create func(context.Context, Namespace) error) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, n := range s.opts.Setup.Namespaces {
		all.Go(func() error { return create(ctx, n) })
	}
	return all.Wait()
}

// setUpGuests creates a namespace with its guest clusters.
func (s *Supervisor) setUpGuests(ctx context.Context, n Namespace) error {
	_, err := s.core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: n.Name, Labels: map[string]string{"vSphereClusterID": ClusterID},
	}}, metav1.CreateOptions{})
	if unlessExists(err) != nil {
		return fmt.Errorf("namespace %s: %w", n.Name, err)
	}
	for _, g := range s.opts.Setup.Guests {
		if g.Namespace != n.Name {
			continue
		}
		if err := s.setUpGuest(ctx, g, n); err != nil {
			return err
		}
	}
	return nil
}

// setUpNamespace creates what a namespace may use.
func (s *Supervisor) setUpNamespace(ctx context.Context, n Namespace) error {
	var items []item
	for _, zone := range s.opts.Setup.Zones {
		items = append(items, availabilityZone(zone, s.opts.Setup.Namespaces))
	}
	for _, zone := range n.Zones {
		items = append(items, object(resource("topology.tanzu.vmware.com", "v1alpha1", "zones"), "Zone", n.Name, zone, map[string]any{}))
	}
	for _, policy := range n.StoragePolicies {
		items = append(items, storageClass(policy), object(resource("cns.vmware.com", "v1alpha2", "storagepolicyquotas"), "StoragePolicyQuota", n.Name,
			strings.ToLower(policy)+"-storagepolicyquota", map[string]any{"storagePolicyId": policyID(policy)}))
	}
	for _, class := range n.Classes {
		items = append(items, vmClass(n.Name, class))
	}
	for _, template := range s.opts.Setup.Images {
		items = append(items, image(vmResource("clustervirtualmachineimages"), "ClusterVirtualMachineImage", "", template),
			image(images(), "VirtualMachineImage", n.Name, template))
	}
	for _, i := range items {
		if err := s.create(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// ClusterID identifies the Supervisor in its vCenter.
const ClusterID = "domain-c1"

// policyID is the identity of a storage policy in the vCenter, of its name.
func policyID(name string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name)) // never fails
	return fmt.Sprintf("%016x", sum.Sum64())
}

// item is an object with its resource.
type item struct {
	gvr schema.GroupVersionResource
	*unstructured.Unstructured
}

func object(gvr schema.GroupVersionResource, kind, namespace, name string, spec map[string]any) item {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion(gvr.GroupVersion().String())
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return item{gvr, o}
}

// create creates an object unless it exists, and gives it the status that it has here.
func (s *Supervisor) create(ctx context.Context, i item) error {
	status, has := i.Object["status"]
	client := s.dynamic.Resource(i.gvr).Namespace(i.GetNamespace())
	made, err := client.Create(ctx, i.Unstructured, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return fmt.Errorf("%s %s: %w", i.GetKind(), i.GetName(), err)
	case !has:
		return nil
	}
	made.Object["status"] = status
	if _, err = client.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("%s %s: status: %w", i.GetKind(), i.GetName(), err)
	}
	return nil
}

func unlessExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// availabilityZone has the resource pools of the namespaces that may use it.
func availabilityZone(z Zone, namespaces []Namespace) item {
	in := map[string]any{}
	for _, n := range namespaces {
		for _, name := range n.Zones {
			if name == z.Name {
				in[n.Name] = map[string]any{}
			}
		}
	}
	clusters := make([]any, len(z.Clusters))
	for i, c := range z.Clusters {
		clusters[i] = c
	}
	return object(resource("topology.tanzu.vmware.com", "v1alpha1", "availabilityzones"), "AvailabilityZone", "", z.Name,
		map[string]any{"clusterComputeResourceMoIDs": clusters, "namespaces": in})
}

// vmClass returns a class; its size is that of the word in its name, as of the classes that a vCenter has.
func vmClass(namespace, name string) item {
	cpus, memory := size(name)
	return object(classes(), "VirtualMachineClass", namespace, name, map[string]any{
		"hardware": map[string]any{"cpus": int64(cpus), "memory": fmt.Sprintf("%dMi", memory)},
	})
}

// size returns the CPUs and the memory in MiB of a VM class.
func size(class string) (cpus int, memory int64) {
	for _, s := range []struct {
		suffix string
		cpus   int
		memory int64
	}{
		{"-xsmall", 2, 2048},
		{"-small", 2, 4096},
		{"-medium", 2, 8192},
		{"-8xlarge", 32, 131072},
		{"-4xlarge", 16, 131072},
		{"-2xlarge", 8, 65536},
		{"-xlarge", 4, 32768},
		{"-large", 4, 16384},
	} {
		if strings.HasSuffix(class, s.suffix) {
			return s.cpus, s.memory
		}
	}
	return 2, 4096
}

// imageName returns the name of the VirtualMachineImage of a template.
func imageName(template string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(template)) // never fails
	return fmt.Sprintf("vmi-%016x0", sum.Sum64())
}

// image returns the image of a template, in a namespace or for all of them.
func image(gvr schema.GroupVersionResource, kind, namespace, template string) item {
	i := object(gvr, kind, namespace, imageName(template), map[string]any{})
	i.Object["status"] = map[string]any{
		"name": template, "type": "OVF",
		"conditions": []any{condition("Ready", "True", "True", "", metav1.Now().UTC().Format(timeFormat))},
	}
	return i
}
