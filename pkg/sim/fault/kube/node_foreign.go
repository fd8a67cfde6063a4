package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func nodeForeign() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.foreign-provider-id", Object: fault.Node, Needs: []fault.Need{fault.Clustered, fault.Kubelets}, Touches: "node-object",
		Short: "gives Nodes the providerID of another cloud",
		Long: "No API server lets a providerID be changed, so the Node is deleted and made anew with it, uninitialized, as a kubelet does that was started with " +
			"--provider-id. The cloud provider must say that the node is not its own, must not panic, and must not delete it. " +
			"Healing deletes that Node and has the kubelet register its own.",
		Params:   []fault.Param{{Name: "id", Short: "the providerID", Type: fault.Text, Default: "aws:///eu-west-1a/i-0123456789abcdef0"}},
		Reported: []string{"cloud-provider-vsphere#485", "cloud-provider-vsphere#506"},
	}, fault.Steps[registered]{
		Plan: func(ctx context.Context, c *fault.Call) (registered, string, error) {
			r, err := remember(ctx, c)
			return r, "make the Node object anew with providerID " + c.Params.Text("id"), err
		},
		Apply: func(ctx context.Context, c *fault.Call, r *registered) error {
			if err := r.remove(ctx, c); err != nil {
				return err
			}
			_, err := c.Ground.Cluster.Client().CoreV1().Nodes().Create(ctx, &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: c.Target.Name, Labels: map[string]string{corev1.LabelHostname: c.Target.Name}},
				Spec: corev1.NodeSpec{ProviderID: c.Params.Text("id"), Taints: []corev1.Taint{
					{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule},
				}},
			}, metav1.CreateOptions{})
			return err
		},
		Revert: func(ctx context.Context, c *fault.Call, r *registered) error {
			return r.restore(ctx, c, func(n *corev1.Node) bool { return n.Spec.ProviderID == c.Params.Text("id") })
		},
	})
}
