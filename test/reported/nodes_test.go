package reported

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// window is how long what must not happen is watched for: six rounds of the node lifecycle controller.
const window = 3 * time.Second

// join registers the nodes of machines.
func (w *ground) join(ctx context.Context, names ...string) error {
	return w.joinAs(ctx, nil, names...)
}

func (w *ground) joinAs(ctx context.Context, edit func(*corev1.Node), names ...string) error {
	return w.Kubelets.Join(ctx, edit, w.machines(names...)...)
}

// joinWithoutUUID registers nodes whose kubelet knows no system UUID.
func (w *ground) joinWithoutUUID(ctx context.Context, names ...string) error {
	return w.joinAs(ctx, func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "" }, names...)
}

// await waits for Nodes that are as they should be.
func (w *ground) await(ctx context.Context, what string, complaint func(lab.NodeSet) string) error {
	if err := w.Nodes.Await(ctx, w.patience(), complaint); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// initialized waits until nodes run on the VMs of their names.
func (w *ground) initialized(ctx context.Context, names ...string) error {
	for _, m := range w.machines(names...) {
		if err := w.runsOn(ctx, m.Name, m); err != nil {
			return err
		}
	}
	return nil
}

// runsOn waits until a node is initialized as that machine.
func (w *ground) runsOn(ctx context.Context, name string, m *lab.Machine) error {
	want := "vsphere://" + m.UUID
	return w.await(ctx, "initialized", func(nodes lab.NodeSet) string {
		if complaint := nodes.Has(name, lab.UninitializedTaint); complaint != "" {
			return complaint
		}
		if n := nodes[name]; n.Spec.ProviderID != want {
			return fmt.Sprintf("node %s has providerID %q, not %q", name, n.Spec.ProviderID, want)
		} else if len(n.Status.Addresses) == 0 {
			return "node " + name + " has no addresses"
		}
		return ""
	})
}

// up is join, and initialized.
func (w *ground) up(ctx context.Context, names ...string) error {
	if err := w.join(ctx, names...); err != nil {
		return err
	}
	return w.initialized(ctx, names...)
}

// gone waits until Nodes are deleted.
func (w *ground) gone(ctx context.Context, names ...string) error {
	return w.await(ctx, "deleted", func(nodes lab.NodeSet) string {
		for _, name := range names {
			if nodes[name] != nil {
				return "node " + name + " is still there"
			}
		}
		return ""
	})
}

// shutDown waits for the taint.
func (w *ground) shutDown(ctx context.Context, name string) error {
	return w.await(ctx, "shut down", func(nodes lab.NodeSet) string { return nodes.Lacks(name, lab.ShutdownTaint) })
}

// never watches, over the window, that no change to these nodes is such a one; what says it of a node, for people.
func (w *ground) never(ctx context.Context, what string, is func(lab.NodeChange) bool, names ...string) error {
	began := time.Now()
	end := time.NewTimer(window)
	defer end.Stop()
	for {
		changed := w.Nodes.Changed()
		for _, name := range names {
			if at, ok := w.Nodes.First(name, began, is); ok {
				return fmt.Errorf("node %s %s after %s", name, what, at.Sub(began).Round(time.Millisecond))
			}
		}
		select {
		case <-changed:
		case <-end.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stay watches that nodes are not deleted.
func (w *ground) stay(ctx context.Context, names ...string) error {
	nodes := w.Nodes.Now()
	for _, name := range names {
		if nodes[name] == nil {
			return fmt.Errorf("node %s was deleted", name)
		}
	}
	return w.never(ctx, "was deleted", lab.Deleted, names...)
}

// silentStay is stay for nodes whose kubelets are hung, so that the VMs are asked for.
func (w *ground) silentStay(ctx context.Context, names ...string) error {
	if err := w.Kubelets.Fail(ctx, names...); err != nil {
		return err
	}
	return w.stay(ctx, names...)
}

// remove deletes a Node as people do.
func (w *ground) remove(ctx context.Context, name string) error {
	err := w.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// warned waits for a warning about a node with one of these reasons.
func (w *ground) warned(ctx context.Context, name string, reasons ...string) error {
	_, err := w.AwaitEvent(ctx, w.patience(), "Node", name, func(e *corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && slices.Contains(reasons, e.Reason)
	})
	if err != nil {
		return fmt.Errorf("nobody says why: %w", err)
	}
	return nil
}

// has waits until a Node has exactly these addresses of a type.
func (w *ground) has(ctx context.Context, name string, kind corev1.NodeAddressType, want ...string) error {
	return w.await(ctx, string(kind), func(nodes lab.NodeSet) string {
		n := nodes[name]
		if n == nil {
			return "node " + name + " does not exist"
		}
		if got := addressesOf(n, kind); !slices.Equal(got, want) {
			return fmt.Sprintf("node %s has %s %q, not %q", name, kind, got, want)
		}
		return ""
	})
}

func addressesOf(n *corev1.Node, kind corev1.NodeAddressType) []string {
	var all []string
	for _, a := range n.Status.Addresses {
		if a.Type == kind {
			all = append(all, a.Address)
		}
	}
	return all
}

// steps runs one after the other until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// finally runs end after an error, too.
func finally(err error, end func() error) error { return errors.Join(err, end()) }
