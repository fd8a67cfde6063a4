package kube

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func nodeUninitialized() *fault.Kind {
	return tainted(fault.Kind{
		Name:  "node.uninitialized",
		Short: "gives nodes back the taint of those that the cloud provider has not seen yet",
		Long: "As by a kubelet that registers once more, or by hand. The cloud provider must take it away again soon, and must not change the node's " +
			"providerID, addresses and labels. Healing takes it away if nobody has.",
		Reported: []string{"cloud-provider-vsphere#218"},
	}, func(fault.Values) corev1.Taint {
		return corev1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}
	})
}

func nodeTainted() *fault.Kind {
	return tainted(fault.Kind{
		Name:  "node.tainted",
		Short: "taints nodes by hand",
		Long: "Any taint: one that the cloud provider or the control plane gives to nodes they take away as soon as it is not true, any other they have to leave. " +
			"Healing takes it away if nobody has.",
		Params: []fault.Param{
			{Name: "key", Short: "its key", Type: fault.Text, Default: cloudproviderapi.TaintNodeShutdown},
			{Name: "value", Short: "its value", Type: fault.Text},
			{Name: "effect", Short: "its effect", Type: fault.Text, Default: "NoSchedule", Choices: []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}},
		},
	}, func(v fault.Values) corev1.Taint {
		return corev1.Taint{Key: v.Text("key"), Value: v.Text("value"), Effect: corev1.TaintEffect(v.Text("effect"))}
	})
}

// tainted completes a kind that adds a taint.
func tainted(k fault.Kind, taint func(fault.Values) corev1.Taint) *fault.Kind {
	k.Object, k.Needs, k.Touches = fault.Node, []fault.Need{fault.Clustered}, "taints"
	return fault.New(k, fault.Steps[nothing]{
		Plan: func(ctx context.Context, c *fault.Call) (s nothing, does string, err error) {
			t := taint(c.Params)
			n, err := node(ctx, c)
			if err == nil && has(n, t) {
				err = fault.Refuse("node %q: has the taint %s:%s", n.Name, t.Key, t.Effect)
			}
			return s, fmt.Sprintf("add taint %s", t.ToString()), err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			t := taint(c.Params)
			return changeNode(ctx, c, func(n *corev1.Node) bool {
				if has(n, t) {
					return false
				}
				n.Spec.Taints = append(n.Spec.Taints, t)
				return true
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			t := taint(c.Params)
			err := changeNode(ctx, c, func(n *corev1.Node) bool {
				before := len(n.Spec.Taints)
				n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(other corev1.Taint) bool { return t.MatchTaint(&other) && other.Value == t.Value })
				return len(n.Spec.Taints) != before
			})
			return unless(err, apierrors.IsNotFound)
		},
	})
}

// has tells whether the node has a taint of that key and effect.
func has(n *corev1.Node, t corev1.Taint) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(other corev1.Taint) bool { return t.MatchTaint(&other) })
}

// node returns the target as it is now.
func node(ctx context.Context, c *fault.Call) (*corev1.Node, error) {
	n, err := c.Ground.Cluster.Client().CoreV1().Nodes().Get(ctx, c.Target.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fault.Refuse("node %q: is not registered", c.Target.Name)
	}
	return n, err
}

// changeNode writes the target with what edit changes, however often others write it at the same time; edit says whether
// there is anything to write.
func changeNode(ctx context.Context, c *fault.Call, edit func(*corev1.Node) bool) error {
	nodes := c.Ground.Cluster.Client().CoreV1().Nodes()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n, err := nodes.Get(ctx, c.Target.Name, metav1.GetOptions{})
		if err != nil || !edit(n) {
			return err
		}
		_, err = nodes.Update(ctx, n, metav1.UpdateOptions{})
		return err
	})
}
