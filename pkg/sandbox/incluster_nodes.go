package sandbox

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// foreign tells whether a Node is another's: in a cluster that the sandbox is a pod of, all are that it has not registered.
func (s *Sandbox) foreign(n *corev1.Node) bool {
	return s.opts.Cluster.Pod != nil && (n.Labels[deploy.ManagedByLabel] != deploy.ManagedBy || n.Labels[deploy.InstanceLabel] != s.opts.Name)
}

// namesFree refuses a topology with a VM that would be a node of a name that the cluster has a Node of already, which is not
// the sandbox's: light nodes leave that alone, and so the VM would never be one.
func (s *Sandbox) namesFree(ctx context.Context, top *topology.Topology) error {
	if s.opts.Cluster.Pod == nil {
		return nil
	}
	list, err := s.cluster.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	taken := map[string]bool{}
	for i := range list.Items {
		taken[list.Items[i].Name] = s.foreign(&list.Items[i])
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
func (p *podCluster) self(ctx context.Context) (*deploy.At, error) {
	o := p.s.opts.Cluster.Pod
	if err := o.validate(); err != nil {
		return nil, err
	}
	pod, err := p.cluster.Client().CoreV1().Pods(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, fmt.Errorf("it has no containers")
	}
	p.image = podImage(pod.Spec.Containers[0].Image)
	return &deploy.At{Node: o.Node, Tolerations: pod.Spec.Tolerations, Command: []string{podProgram, ccmCommand}}, nil
}

// podProgram is this program in its image.
const podProgram = "/vsphere-sandbox"

// nodesAtOnce is how many Nodes are deleted at the same time.
const nodesAtOnce = 16

// removeNodes deletes the Nodes of light nodes, as their administrator would.
func (p *podCluster) removeNodes(ctx context.Context) error {
	api := p.cluster.Client().CoreV1().Nodes()
	list, err := api.List(ctx, metav1.ListOptions{
		LabelSelector: deploy.ManagedByLabel + "=" + deploy.ManagedBy + "," + deploy.InstanceLabel + "=" + p.s.opts.Name,
	})
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(nodesAtOnce)
	for _, n := range list.Items {
		g.Go(func() error {
			err := api.Delete(ctx, n.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}})
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another one of that name
				return nil
			}
			return err
		})
	}
	return g.Wait()
}
