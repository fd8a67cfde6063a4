package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Service is a VirtualMachineService, and what the load balancer has of it.
type Service struct {
	*unstructured.Unstructured
	// Endpoints are the VirtualMachines that it forwards to, with their addresses: "worker-1 (10.0.0.1)".
	Endpoints []string
	// Events are those on it, oldest first.
	Events []corev1.Event
	// Pending is why the load balancer can give it no address; "" if it can, or has.
	Pending string
}

// Operates reports whether the controllers run; see [Supervisor.SetOperator].
func (s *Supervisor) Operates() bool { return !s.pause.is() }

// Machines returns all VirtualMachines by namespace and name. The caller must not change them.
func (s *Supervisor) Machines() ([]*unstructured.Unstructured, error) { return s.all(machines()) }

func (s *Supervisor) all(gvr schema.GroupVersionResource) (all []*unstructured.Unstructured, err error) {
	for _, n := range s.opts.Setup.Namespaces {
		list, err := s.list(gvr, n.Name, labels.Everything())
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// Services returns all VirtualMachineServices by namespace and name. It asks the API server for their Endpoints and Events.
func (s *Supervisor) Services(ctx context.Context) (all []Service, err error) {
	objects, err := s.all(machineServices())
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		one := Service{Unstructured: o, Pending: s.pending(o)}
		core := s.core.CoreV1()
		endpoints, err := core.Endpoints(o.GetNamespace()).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", o.GetName()).String()})
		if err != nil {
			return nil, fmt.Errorf("endpoints of VirtualMachineService %s: %w", o.GetName(), err)
		}
		for _, e := range endpoints.Items {
			one.Endpoints = append(one.Endpoints, targets(e)...)
		}
		events, err := core.Events(o.GetNamespace()).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(o.GetUID())).String()})
		if err != nil {
			return nil, fmt.Errorf("events on VirtualMachineService %s: %w", o.GetName(), err)
		}
		slices.SortStableFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
		one.Events = events.Items
		all = append(all, one)
	}
	return all, nil
}

// targets lists the VirtualMachines of Endpoints.
func targets(e corev1.Endpoints) (all []string) { //nolint:staticcheck // VM Operator writes Endpoints
	for _, subset := range e.Subsets {
		for _, a := range subset.Addresses {
			text := a.IP
			if a.TargetRef != nil {
				text = a.TargetRef.Name + " (" + a.IP + ")"
			}
			all = append(all, text)
		}
	}
	return all
}

// pending returns why a VirtualMachineService gets no address now, by the rules of [Supervisor.giveAddress].
func (s *Supervisor) pending(o *unstructured.Unstructured) string {
	if ingress, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress"); len(ingress) > 0 || text(o, "spec", "type") != string(corev1.ServiceTypeLoadBalancer) {
		return ""
	}
	var why []string
	if !s.Operates() {
		why = append(why, errStopped.Error())
	}
	if err := s.pool.why(o.GetNamespace()+"/"+o.GetName(), text(o, "spec", "loadBalancerIP")); err != nil {
		why = append(why, err.Error())
	}
	return strings.Join(why, "; ")
}

var errStopped = errors.New("VM Operator is stopped")
