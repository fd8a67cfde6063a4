package lab

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func ready(s corev1.ConditionStatus) []corev1.NodeCondition {
	reason, now := "KubeletReady", metav1.Now()
	if s != corev1.ConditionTrue {
		reason = "NodeStatusUnknown" // as the node monitor has it
	}
	return []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: s, Reason: reason, Message: "written by the lab",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}}
}

// writeStatus sets the Ready condition, also if the Node changes at the same time.
func (k *Kubelets) writeStatus(ctx context.Context, name string, s corev1.ConditionStatus) error {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": ready(s)}})
	if err != nil {
		return err
	}
	_, err = k.l.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func (k *Kubelets) createLease(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	leases := k.l.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now, seconds := metav1.NowMicro(), int32(40)
	lease, err := leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return leases.Get(ctx, name, metav1.GetOptions{})
	}
	return lease, err
}

// beat renews the leases of all nodes that live, every period, until ctx ends. One that could not be renewed is renewed the
// next time: a kubelet would try again, too.
func (k *Kubelets) beat(ctx context.Context, period time.Duration) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var g errgroup.Group
		g.SetLimit(atOnce)
		for _, n := range k.alive() {
			g.Go(func() error { k.renew(ctx, n); return nil })
		}
		_ = g.Wait()
	}
}

func (k *Kubelets) alive() []*kubelet {
	k.mu.Lock()
	defer k.mu.Unlock()
	var alive []*kubelet
	for _, n := range k.nodes {
		if on, known := k.on[n.uuid]; !n.hung && (on || !known) {
			alive = append(alive, n)
		}
	}
	return alive
}

// renew updates the lease from its last known version; a conflict costs one more round trip. Only beat calls it, one call
// at a time for each node.
func (k *Kubelets) renew(ctx context.Context, n *kubelet) {
	leases := k.l.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease := n.lease.DeepCopy()
	now := metav1.NowMicro()
	lease.Spec.RenewTime = &now
	written, err := leases.Update(ctx, lease, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		written, err = leases.Get(ctx, n.name, metav1.GetOptions{})
	} else if apierrors.IsNotFound(err) {
		written, err = k.createLease(ctx, n.name)
	}
	if err == nil {
		n.lease = written
	}
}
