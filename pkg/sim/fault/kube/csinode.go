package kube

import (
	"context"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func csiNodeDeleted() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.csinode-deleted", Object: fault.Node, Needs: []fault.Need{fault.Clustered}, Touches: "csinode",
		Short: "deletes the CSINode objects of nodes",
		Long: "What Kubernetes knows of a node's CSI drivers is in there: how many volumes it takes, and where it is. Without it no volume is attached to the node, and " +
			"csi-provisioner knows no topology of it. A kubelet makes one when it starts, or when a driver registers, and not by itself. Healing creates it as it was.",
		Reported: []string{"vsphere-csi-driver#453"},
	}, fault.Steps[storagev1.CSINode]{
		Plan: func(ctx context.Context, c *fault.Call) (before storagev1.CSINode, _ string, _ error) {
			n, err := c.Ground.Cluster.Client().StorageV1().CSINodes().Get(ctx, c.Target.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return before, "", fault.Refuse("CSINode %q: does not exist", c.Target.Name)
			}
			if err != nil {
				return before, "", err
			}
			before = *n
			before.ObjectMeta = fresh(n.ObjectMeta)
			return before, "delete its CSINode", nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *storagev1.CSINode) error {
			tell(c, "object.changed", event.Object{Kind: "Node", Name: c.Target.Name}, "its CSINode: deleted")
			return c.Ground.Cluster.Client().StorageV1().CSINodes().Delete(ctx, c.Target.Name, metav1.DeleteOptions{})
		},
		Revert: func(ctx context.Context, c *fault.Call, before *storagev1.CSINode) error {
			n, err := c.Ground.Cluster.Client().CoreV1().Nodes().Get(ctx, c.Target.Name, metav1.GetOptions{})
			if err != nil {
				return unless(err, apierrors.IsNotFound)
			}
			back := before.DeepCopy()
			// Of the Node as it is now: what another owns is collected as garbage.
			back.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}}
			_, err = c.Ground.Cluster.Client().StorageV1().CSINodes().Create(ctx, back, metav1.CreateOptions{})
			return unless(err, apierrors.IsAlreadyExists)
		},
	})
}
