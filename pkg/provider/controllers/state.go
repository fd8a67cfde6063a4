package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// ready reports whether the node's kubelet says that it is.
func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// initialized reports whether the cloud-node controller is done with the node.
func initialized(node *corev1.Node) bool {
	return !hasTaint(node, cloudproviderapi.TaintExternalCloudProvider)
}

// troubled reports whether the lifecycle controller has anything to do for the node: it looks at no VM of a node that
// is ready, and only removes the shutdown taint.
func troubled(node *corev1.Node) bool {
	return !ready(node) || hasTaint(node, cloudproviderapi.TaintNodeShutdown)
}
