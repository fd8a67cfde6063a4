package clusterwatch

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// reasonNoLoadBalancer is the reason of the Event on a Service that stays pending.
	reasonNoLoadBalancer = "NoLoadBalancer"
	// sourceSandbox is the source of Events that the sandbox writes.
	sourceSandbox = "vsphere-sandbox"
	// noLoadBalancer is the message of the Event: what is missing, and what to do.
	noLoadBalancer = "stays pending: this sandbox has no load balancer (--loadbalancer none). Use type NodePort or ClusterIP, install a load balancer of your own, " +
		"or set an address: kubectl patch service NAME --subresource=status --type=merge -p '{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.1\"}]}}}'"
	// eventTimeout bounds the call that creates the Event.
	eventTimeout = 10 * time.Second
)

// serviceChanged writes an Event on a Service that has become one of type LoadBalancer, unless a load balancer of another class
// is meant or it has an address.
func (w *Watch) serviceChanged(old, s *corev1.Service, gone bool) {
	if gone || !pending(s) || old != nil && old.UID == s.UID && pending(old) {
		return
	}
	w.Background.Run(group, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, eventTimeout)
		defer cancel()
		e := serviceEvent(s, metav1.Now())
		_, err := w.Client().CoreV1().Events(s.Namespace).Create(ctx, e, metav1.CreateOptions{})
		switch {
		case err == nil, apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), ctx.Err() != nil: // not found: its namespace is gone
		default:
			w.Logger.Error("event on service", "namespace", s.Namespace, "service", s.Name, "err", err)
		}
	})
}

// pending reports whether a Service waits for a load balancer of the cloud provider.
func pending(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil && len(s.Status.LoadBalancer.Ingress) == 0
}

// serviceEvent returns the Event on a Service. Its name depends on the Service only, so that a second watch writes no second one.
func serviceEvent(s *corev1.Service, now metav1.Time) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + ".no-load-balancer." + string(s.UID)},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Service", Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion,
		},
		Type: corev1.EventTypeWarning, Reason: reasonNoLoadBalancer, Message: noLoadBalancer,
		Source: corev1.EventSource{Component: sourceSandbox}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
}
