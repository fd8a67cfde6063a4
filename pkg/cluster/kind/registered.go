package kind

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// registerTime is how long nodes may take to appear once kubeadm is through with them: as long as kubeadm itself waits. It
// is a second as a rule, but on a busy machine 40 were seen.
const registerTime = 4 * time.Minute

// registered waits until every node is there by the name of its VM, and the controller manager works, and gives further
// control-plane nodes the label that no node may give itself.
func (c *Cluster) registered(ctx context.Context, say sayf) error {
	ctx, cancel := context.WithTimeoutCause(ctx, registerTime, fmt.Errorf("not in %v", registerTime))
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		waiting := c.missing(ctx)
		if waiting == "" {
			break
		}
		if waiting != last {
			say("waiting for %s", waiting)
			last = waiting
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", last, context.Cause(ctx))
		}
	}
	for _, m := range c.machines {
		if !m.ControlPlane || m.role == "control-plane" {
			continue
		}
		label := fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, controlPlaneRole)
		if _, err := c.client.CoreV1().Nodes().Patch(ctx, m.Name, types.StrategicMergePatchType, label, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("node %q: label %s: %w", m.Name, controlPlaneRole, err)
		}
	}
	return nil
}

// missing says what there is not yet, "" when all is there.
func (c *Cluster) missing(ctx context.Context) string {
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "the API server: " + err.Error()
	}
	want := c.names()
	for _, n := range list.Items {
		want = slices.DeleteFunc(want, func(name string) bool { return name == n.Name })
	}
	if len(want) > 0 {
		return "nodes to register: " + strings.Join(want, ", ")
	}
	if _, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return "the controller manager to make the default ServiceAccount"
	}
	return ""
}
