package supervisor

import (
	"context"
	"math/bits"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resources of NSX: the first two with a tier-1 gateway, the others in a VPC.
func routeSets() schema.GroupVersionResource { return resource(nsxGroup, "v1alpha1", "routesets") }
func ipPools() schema.GroupVersionResource   { return resource(nsxGroup, "v1alpha1", "ippools") }
func staticRoutes() schema.GroupVersionResource {
	return resource(vpcGroup, "v1alpha1", "staticroutes")
}

func allocations() schema.GroupVersionResource {
	return resource(vpcGroup, "v1alpha1", "ipaddressallocations")
}

func subnetPorts() schema.GroupVersionResource { return resource(vpcGroup, "v1alpha1", "subnetports") }

// realize writes the status of an object of NSX, with the condition Ready. A status that is the same is not written.
func (s *Supervisor) realize(ctx context.Context, gvr schema.GroupVersionResource, o *unstructured.Unstructured, fill func(status map[string]any) error) error {
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	next := runtime.DeepCopyJSON(status)
	if next == nil {
		next = map[string]any{}
	}
	ready, reason, message := "True", "Realized", ""
	err := fill(next)
	if err != nil {
		ready, reason, message = "False", "Failed", err.Error()
	}
	if gvr.Group == vpcGroup { // NSX Operator's words
		reason = o.GetKind() + map[string]string{"True": "Ready", "False": "NotReady"}[ready]
	}
	setCondition(next, "Ready", ready, reason, message)
	if reflect.DeepEqual(status, next) {
		return nil
	}
	o.Object["status"] = next
	_, err = s.dynamic.Resource(gvr).Namespace(o.GetNamespace()).UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

func (s *Supervisor) reconcileRouteSet(ctx context.Context, key string) error {
	o, err := s.get(routeSets(), key)
	if o == nil || err != nil {
		return err
	}
	return s.realize(ctx, routeSets(), o, func(status map[string]any) error {
		routes, _, _ := unstructured.NestedSlice(o.Object, "spec", "routes")
		status["routes"] = routes
		return nil
	})
}

func (s *Supervisor) reconcileStaticRoute(ctx context.Context, key string) error {
	o, err := s.get(staticRoutes(), key)
	if o == nil || err != nil {
		return err
	}
	return s.realize(ctx, staticRoutes(), o, func(map[string]any) error { return nil })
}

func (s *Supervisor) reconcileAllocation(ctx context.Context, key string) error {
	o, err := s.get(allocations(), key)
	if o == nil || err != nil {
		s.nets.release("allocation " + key)
		return err
	}
	return s.realize(ctx, allocations(), o, func(status map[string]any) error {
		size, _, _ := unstructured.NestedInt64(o.Object, "spec", "allocationSize")
		network, err := s.nets.take("allocation "+key, 32-bits.Len64(uint64(max(size, 1)-1)))
		if err == nil {
			status["allocationIPs"] = network.String()
		}
		return err
	})
}

func (s *Supervisor) reconcileIPPool(ctx context.Context, key string) error {
	o, err := s.get(ipPools(), key)
	if o == nil || err != nil {
		return err
	}
	return s.realize(ctx, ipPools(), o, func(status map[string]any) error {
		wanted, _, _ := unstructured.NestedSlice(o.Object, "spec", "subnets")
		given, names := []any{}, map[string]bool{}
		for _, w := range wanted {
			subnet, _ := w.(map[string]any)
			name, _ := subnet["name"].(string)
			length, _ := subnet["prefixLength"].(int64)
			if length == 0 {
				length = 24
			}
			network, err := s.nets.take("subnet "+key+"/"+name, int(length))
			if err != nil {
				return err
			}
			names[name] = true
			given = append(given, map[string]any{"name": name, "cidr": network.String()})
		}
		had, _ := status["subnets"].([]any)
		for _, h := range had {
			subnet, _ := h.(map[string]any)
			if name, _ := subnet["name"].(string); !names[name] {
				s.nets.release("subnet " + key + "/" + name)
			}
		}
		status["subnets"] = given
		return nil
	})
}

// rememberBlocks takes the networks that objects of an earlier start have.
func (s *Supervisor) rememberBlocks(namespace string) error {
	all, err := s.list(allocations(), namespace, labels.Everything())
	if err != nil {
		return err
	}
	for _, o := range all {
		s.nets.use("allocation "+namespace+"/"+o.GetName(), text(o, "status", "allocationIPs"))
	}
	pools, err := s.list(ipPools(), namespace, labels.Everything())
	for _, o := range pools {
		subnets, _, _ := unstructured.NestedSlice(o.Object, "status", "subnets")
		for _, n := range subnets {
			subnet, _ := n.(map[string]any)
			name, _ := subnet["name"].(string)
			cidr, _ := subnet["cidr"].(string)
			s.nets.use("subnet "+namespace+"/"+o.GetName()+"/"+name, cidr)
		}
	}
	return err
}
