package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// registered is what a user may have added to a deleted Node. The kubelet and the cloud provider set the rest.
type registered struct {
	UID           types.UID         `json:"uid"`
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
}

func nodeDeleted() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.object-deleted", Object: fault.Node, Needs: []fault.Need{fault.Clustered, fault.Kubelets}, Aspect: "node-object",
		Short: "deletes Node objects by hand, whose VMs and kubelets run on",
		Long: "A kubelet registers when it starts and not again: until then it only complains. Healing restarts it, waits until the Node is there, and gives it back " +
			"labels that are not the cloud provider's, annotations and the mark that it is not to be scheduled on; the cloud provider has to initialize it once more.",
		Reported: []string{"cloud-provider-vsphere#397", "cloud-provider-vsphere#501", "cloud-provider-vsphere#759"},
	}, fault.Steps[registered]{
		Plan: func(ctx context.Context, c *fault.Call) (registered, string, error) {
			r, err := remember(ctx, c)
			return r, "delete the Node object", err
		},
		Apply: func(ctx context.Context, c *fault.Call, r *registered) error { return r.remove(ctx, c) },
		Revert: func(ctx context.Context, c *fault.Call, r *registered) error {
			return r.restore(ctx, c, func(*corev1.Node) bool { return false })
		},
	})
}

// remember plans the deletion of the target.
func remember(ctx context.Context, c *fault.Call) (registered, error) {
	n, err := node(ctx, c)
	if err != nil {
		return registered{}, err
	}
	if c.Ground.Processes.Replicas(kubelet(c)) == 0 {
		return registered{}, fault.Refuse("node %q: the sandbox runs no kubelet that would register it again", n.Name)
	}
	return registered{UID: n.UID, Labels: peoples(n.Labels), Annotations: n.Annotations, Unschedulable: n.Spec.Unschedulable}, nil
}

// peoples returns the labels without those of the cloud provider, which must set them again: the VM may have moved, and a
// provider that does not set them must not appear to.
func peoples(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	for _, key := range []string{
		corev1.LabelTopologyRegion, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelFailureDomainBetaZone,
		corev1.LabelInstanceTypeStable, corev1.LabelInstanceType,
	} {
		delete(labels, key)
	}
	return labels
}

func (r registered) remove(ctx context.Context, c *fault.Call) error {
	report(c, "node.removed", event.Object{Kind: "Node", Name: c.Target.Name}, "Node object removed by hand")
	return c.Ground.Cluster.Client().CoreV1().Nodes().Delete(ctx, c.Target.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID}})
}

// restore waits until the kubelet registers the Node again, unless it exists; it deletes a foreign one first. The Node of a VM
// that is off registers when the VM runs.
func (r registered) restore(ctx context.Context, c *fault.Call, foreign func(*corev1.Node) bool) error {
	nodes := c.Ground.Cluster.Client().CoreV1().Nodes()
	n, err := nodes.Get(ctx, c.Target.Name, metav1.GetOptions{})
	if err == nil && foreign(n) {
		report(c, "node.removed", event.Object{Kind: "Node", Name: c.Target.Name}, "foreign Node object removed")
		if err = nodes.Delete(ctx, n.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}}); err != nil {
			return err
		}
		err = apierrors.NewNotFound(corev1.Resource("nodes"), n.Name)
	}
	if apierrors.IsNotFound(err) {
		defer causing(c, kubelet(c))()
		if err := c.Ground.Processes.Restart(ctx, kubelet(c)); err != nil {
			return still(c, kubelet(c), err)
		}
		err = registers(ctx, c.Ground.Cluster.Client(), c.Target.Name)
	}
	if err != nil {
		return err
	}
	return changeNode(ctx, c, r.complete)
}

// complete adds what a Node lacks.
func (r registered) complete(n *corev1.Node) bool {
	changed := n.Spec.Unschedulable != r.Unschedulable
	n.Spec.Unschedulable = r.Unschedulable
	n.Labels, n.Annotations = maps.Clone(n.Labels), maps.Clone(n.Annotations)
	labels, annotations := missing(&n.Labels, r.Labels), missing(&n.Annotations, r.Annotations)
	return changed || labels || annotations
}

func missing(have *map[string]string, want map[string]string) (changed bool) {
	for key, value := range want {
		if _, ok := (*have)[key]; ok {
			continue
		}
		if *have == nil {
			*have = map[string]string{}
		}
		(*have)[key], changed = value, true
	}
	return changed
}

// registers waits until a Node with that name exists.
func registers(ctx context.Context, client kubernetes.Interface, name string) error {
	for only := fields.OneTermEqualSelector("metadata.name", name).String(); ; {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: only})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list.Items, func(n corev1.Node) bool { return n.Name == name }) {
			return nil
		}
		w, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{FieldSelector: only, ResourceVersion: list.ResourceVersion})
		if err != nil {
			return err
		}
		select {
		case <-w.ResultChan(): // it exists, or the watch has ended: list again
			w.Stop()
		case <-ctx.Done():
			w.Stop()
			return fmt.Errorf("node %q: its kubelet has not registered it: %w", name, context.Cause(ctx))
		}
	}
}

func nodeForeign() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.foreign-provider-id", Object: fault.Node, Needs: []fault.Need{fault.Clustered, fault.Kubelets}, Aspect: "node-object",
		Short: "gives Nodes the providerID of another cloud",
		Long: "No API server lets a providerID be changed, so the Node is deleted and created again with it, uninitialized, as a kubelet does that was started with " +
			"--provider-id. The cloud provider must say that the node is not its own, must not panic, and must not delete it. " +
			"Healing deletes that Node and has the kubelet register its own.",
		Params:   []fault.Param{{Name: "id", Short: "the providerID", Type: fault.Text, Default: "aws:///eu-west-1a/i-0123456789abcdef0"}},
		Reported: []string{"cloud-provider-vsphere#485", "cloud-provider-vsphere#506"},
	}, fault.Steps[registered]{
		Plan: func(ctx context.Context, c *fault.Call) (registered, string, error) {
			r, err := remember(ctx, c)
			return r, "create the Node again with providerID " + c.Params.Text("id"), err
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

func nodeUninitialized() *fault.Kind {
	return tainted(fault.Kind{
		Name:  "node.uninitialized",
		Short: "gives nodes back the taint of those that the cloud provider has not seen yet",
		Long: "As by a kubelet that registers once more, or by hand. The cloud provider must take it away again soon, and must not change the node's " +
			"providerID, addresses and labels. Healing removes it if it is still there.",
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
			"Healing removes it if it is still there.",
		Params: []fault.Param{
			{Name: "key", Short: "its key", Type: fault.Text, Default: cloudproviderapi.TaintNodeShutdown},
			{Name: "value", Short: "its value", Type: fault.Text},
			{Name: "effect", Short: "its effect", Type: fault.Text, Default: "NoSchedule", Choices: []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}},
		},
	}, func(v fault.Values) corev1.Taint {
		return corev1.Taint{Key: v.Text("key"), Value: v.Text("value"), Effect: corev1.TaintEffect(v.Text("effect"))}
	})
}

// tainted returns a kind that adds a taint.
func tainted(k fault.Kind, taint func(fault.Values) corev1.Taint) *fault.Kind {
	k.Object, k.Needs, k.Aspect = fault.Node, []fault.Need{fault.Clustered}, "taints"
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

// has reports whether the node has a taint with that key and effect.
func has(n *corev1.Node, t corev1.Taint) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(other corev1.Taint) bool { return t.MatchTaint(&other) })
}

// node returns the current state of the target.
func node(ctx context.Context, c *fault.Call) (*corev1.Node, error) {
	n, err := c.Ground.Cluster.Client().CoreV1().Nodes().Get(ctx, c.Target.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fault.Refuse("node %q: is not registered", c.Target.Name)
	}
	return n, err
}

// changeNode updates the target with edit, and retries on conflicts. edit returns whether it changed anything.
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

// Optional abilities of a ground's processes, for nodes with volumes.
type (
	linker interface {
		WithholdLinks(component string, withheld bool) error
	}
	registrar interface {
		RegisterCSI(component string, registered bool) error
	}
)

func linkWithheld() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.link-withheld", Object: fault.Node, Needs: []fault.Need{fault.Kubelets}, Aspect: "links", Component: kubeletOf,
		Short: "has disks that nodes are given not appear under /dev/disk/by-id",
		Long: "As in a VM that was made without disk.EnableUUID: the volume is attached, vCenter and Kubernetes say so, and the node service looks for the disk in vain. " +
			"The pod stays in ContainerCreating. Disks that were there before stay. Healing has them all appear.",
		Reported: []string{"vsphere-csi-driver#27", "vsphere-csi-driver#92", "vsphere-csi-driver#943", "vsphere-csi-driver#1787", "vsphere-csi-driver#2954"},
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, _ string, err error) {
			_, err = able[linker](c, "no component shows disks to guests here")
			return s, "show it no further disk", err
		},
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return c.Ground.Processes.(linker).WithholdLinks(kubelet(c), true) // checked by Plan
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			p, ok := c.Ground.Processes.(linker)
			if !ok {
				return nil
			}
			defer causing(c, kubelet(c))()
			return still(c, kubelet(c), p.WithholdLinks(kubelet(c), false))
		},
	})
}

func csiUnregistered() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.csi-unregistered", Object: fault.Node, Needs: []fault.Need{fault.Kubelets}, Aspect: "csi-registration", Component: kubeletOf,
		Short: "takes the CSI driver's registration socket away from kubelets",
		Long: "As when the driver's DaemonSet is deleted or its registrar dies: the kubelet drops the driver from its CSINode, and pods with volumes that come to the node stay in " +
			"ContainerCreating, \"driver name csi.vsphere.vmware.com not found in the list of registered CSI drivers\". Pods that run do not notice. Healing puts the socket " +
			"back, and the driver is registered again.",
		Reported: []string{"vsphere-csi-driver#1661", "vsphere-csi-driver#2284"},
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, _ string, err error) {
			if _, err = able[registrar](c, "the sandbox has no hand in the nodes' sockets"); err == nil {
				err = running(c, kubelet(c))
			}
			return s, "remove the socket that announces its CSI node service", err
		},
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return c.Ground.Processes.(registrar).RegisterCSI(kubelet(c), false) // checked by Plan
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			p, ok := c.Ground.Processes.(registrar)
			if !ok {
				return nil
			}
			defer causing(c, kubelet(c))()
			return still(c, kubelet(c), p.RegisterCSI(kubelet(c), true))
		},
	})
}

// able returns the ground's processes as P. It refuses if they lack it, or if the target has no kubelet.
func able[P any](c *fault.Call, otherwise string) (p P, err error) {
	p, ok := c.Ground.Processes.(P)
	switch {
	case !ok:
		return p, &fault.Refusal{Code: "unsupported", Message: otherwise}
	case c.Ground.Processes.Replicas(kubelet(c)) == 0:
		return p, fault.Refuse("node %q: the sandbox runs no kubelet for it now", c.Target.Name)
	}
	return p, nil
}
