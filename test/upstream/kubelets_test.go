package upstream

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

const (
	uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	shutdownTaint      = "node.cloudprovider.kubernetes.io/shutdown"
)

// kubelets stands for the kubelets of many nodes: it registers them and sends the heartbeats of those whose VM is on.
// 200 of the real ones would need more memory than a laptop has, and the cloud provider sees no difference.
type kubelets struct {
	w *world

	mu sync.Mutex
	on map[string]bool
}

// register creates the Node as a kubelet with --cloud-provider=external does.
func (k *kubelets) register(ctx context.Context, name, uuid string) error {
	nodes := k.w.cluster.Client().CoreV1().Nodes()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: uninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
	}
	node.Status.NodeInfo.SystemUUID = uuid
	node.Status.Conditions = ready(corev1.ConditionTrue)
	if _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	leases := k.w.cluster.Client().CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now, seconds := metav1.NowMicro(), int32(40)
	_, err := leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.on[name] = true
	k.mu.Unlock()
	return nil
}

func ready(s corev1.ConditionStatus) []corev1.NodeCondition {
	now := metav1.Now()
	return []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: s, Reason: "Kubelet", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
}

// power reports that the VM of a node is on or off.
func (k *kubelets) power(ctx context.Context, name string, on bool) error {
	k.mu.Lock()
	k.on[name] = on
	k.mu.Unlock()
	if !on {
		return nil // a kubelet without power says nothing more
	}
	nodes := k.w.cluster.Client().CoreV1().Nodes()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		n.Status.Conditions = ready(corev1.ConditionTrue)
		_, err = nodes.UpdateStatus(ctx, n, metav1.UpdateOptions{})
		return err
	})
}

// beat renews the leases of all nodes that are on, every ten seconds as kubelets do, until ctx ends.
func (k *kubelets) beat(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		k.mu.Lock()
		var on []string
		for name, is := range k.on {
			if is {
				on = append(on, name)
			}
		}
		k.mu.Unlock()
		for _, name := range on {
			if err := k.renew(ctx, name); err != nil && ctx.Err() == nil {
				return fmt.Errorf("heartbeat of node %s: %w", name, err)
			}
		}
	}
}

func (k *kubelets) renew(ctx context.Context, name string) error {
	leases := k.w.cluster.Client().CoordinationV1().Leases(corev1.NamespaceNodeLease)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		l, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now := metav1.NowMicro()
		l.Spec.RenewTime = &now
		_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
		return err
	})
}
