package controllers

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// ready reports whether the node's kubelet says that it is.
func ready(node *v1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

func hasTaint(node *v1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == key })
}

// initialized reports whether the cloud-node controller is done with the node.
func initialized(node *v1.Node) bool {
	return !hasTaint(node, cloudproviderapi.TaintExternalCloudProvider)
}

// troubled reports whether the lifecycle controller has anything to do for the node: it looks at no VM of a node that
// is ready, and only removes the shutdown taint.
func troubled(node *v1.Node) bool {
	return !ready(node) || hasTaint(node, cloudproviderapi.TaintNodeShutdown)
}
