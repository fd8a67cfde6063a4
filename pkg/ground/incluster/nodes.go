package incluster

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Foreign implements [ground.Shared]: all Nodes are that the sandbox has not registered.
func (g *Ground) Foreign(n *corev1.Node) bool {
	return n.Labels[deploy.ManagedByLabel] != deploy.ManagedBy || n.Labels[deploy.InstanceLabel] != g.Sandbox
}

// NamesFree implements [ground.Shared]: it refuses a topology with a VM that would be a node of a name that the cluster has a Node of already, which is not
// the sandbox's: light nodes leave that alone, and so the VM would never be one.
func (g *Ground) NamesFree(ctx context.Context, top *topology.Topology) error {
	return g.namesFree(ctx, g.cluster.Client(), top)
}

func (g *Ground) namesFree(ctx context.Context, client kubernetes.Interface, top *topology.Topology) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	taken := map[string]bool{}
	for i := range list.Items {
		taken[list.Items[i].Name] = g.Foreign(&list.Items[i])
	}
	for _, r := range top.Nodes() {
		if name := strings.ToLower(r.VM.Hostname); taken[name] {
			return &api.Error{
				Code: "conflict", Message: fmt.Sprintf("the cluster has a node %s, which is not the sandbox's, and vm %q would be one of that name", name, r.VM.Name),
				Try: "give the VM another hostname in the topology",
			}
		}
	}
	return nil
}

// self reads this very pod: what image it runs, and what it tolerates where it is. What is deployed runs beside it, of the same
// image, which the node has.
func (g *Ground) self(ctx context.Context) (*deploy.At, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	pod, err := g.cluster.Client().CoreV1().Pods(g.Namespace).Get(ctx, g.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, fmt.Errorf("it has no containers")
	}
	g.image = image(pod.Spec.Containers[0].Image)
	return &deploy.At{Node: g.Node, Tolerations: pod.Spec.Tolerations, Command: []string{program, g.CCM}}, nil
}

// program is this program in its image.
const program = "/vsphere-sandbox"

// nodesAtOnce is how many Nodes are deleted at the same time.
const nodesAtOnce = 16

// removeNodes deletes the Nodes of light nodes, as their administrator would.
func (g *Ground) removeNodes(ctx context.Context) error {
	api := g.cluster.Client().CoreV1().Nodes()
	list, err := api.List(ctx, metav1.ListOptions{
		LabelSelector: deploy.ManagedByLabel + "=" + deploy.ManagedBy + "," + deploy.InstanceLabel + "=" + g.Sandbox,
	})
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(nodesAtOnce)
	for _, n := range list.Items {
		eg.Go(func() error {
			err := api.Delete(ctx, n.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}})
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another one of that name
				return nil
			}
			return err
		})
	}
	return eg.Wait()
}
