package paravirtual

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/binding"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/vmoperator"
)

var (
	// ErrDeletionHeldBack reports that no VM of a node is found, and that it is not confirmed gone either.
	ErrDeletionHeldBack = errors.New("deletion held back")
	// ErrWrongNamespace reports that the namespace has no VM of any Node, so that it may be another cluster's.
	ErrWrongNamespace = errors.New("the namespace has no VirtualMachine of any node of this cluster")
	// ErrUUIDChanged reports that the VM with a node's name has another BIOS UUID than the node's providerID.
	ErrUUIDChanged = errors.New("the VirtualMachine of the node's name has another BIOS UUID now")

	errOutdated = errors.New("vm is gone, but")
)

// InstanceExists implements [cloudprovider.InstancesV2]. The caller deletes a node for which it returns false. It returns false
// only if all of this holds: the node has a vSphere providerID; the Supervisor has just listed the namespace's VirtualMachines from
// its database, and none has that UUID, or the node's system UUID, or may have it because VM Operator has not reported its UUID;
// the list has a VM of another Node, or the Supervisor reported the deletion to this process; and the node is still
// the same after that.
func (p *Provider) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	exists, err := p.exists(ctx, node)
	if !exists && err == nil {
		if why := p.changed(node); why != "" {
			return false, fmt.Errorf("node %q: %w: %s", node.Name, errOutdated, why)
		}
	}
	if err != nil {
		err = fmt.Errorf("node %q: %w", node.Name, err)
	}
	if ctx.Err() == nil {
		p.events.existence(node, exists, err)
	}
	return exists, err
}

func (p *Provider) exists(ctx context.Context, node *corev1.Node) (bool, error) {
	if node.Spec.ProviderID == "" {
		if _, err := p.find(node); err != nil {
			return false, err
		}
		return true, nil
	}
	bound, err := match.ParseProviderID(node.Spec.ProviderID)
	if err != nil {
		return false, err
	}
	if _, err := p.find(node); err == nil || errors.Is(err, match.ErrAmbiguous) {
		return true, nil // one of them is the node's
	}
	if err := p.confirmGone(ctx, node, bound); err != nil {
		if errors.Is(err, errStillThere) {
			return true, nil
		}
		return false, fmt.Errorf("%w: %w", ErrDeletionHeldBack, err)
	}
	return false, nil
}

var errStillThere = errors.New("the VirtualMachine exists")

// confirmGone returns nil if the Supervisor confirms that the node's VM does not exist.
func (p *Provider) confirmGone(ctx context.Context, node *corev1.Node, bound match.UUID) error {
	vms := p.vms.Load()
	if vms == nil {
		return errNotBegun
	}
	if doubt := vms.Current(); doubt != nil {
		return doubt
	}
	listed, err := p.list(ctx, vms.Namespace())
	if err != nil {
		return err
	}
	system, systemErr := match.ParseUUID(node.Status.NodeInfo.SystemUUID)
	for _, vm := range listed {
		older := !vm.CreationTimestamp.After(node.CreationTimestamp.Time)
		switch {
		case binding.HasUUID(vm, bound), systemErr == nil && binding.HasUUID(vm, system):
			return errStillThere
		case vm.UUID == (match.UUID{}) && (older || vm.Name == node.Name):
			return fmt.Errorf("vm %s may be the node's: %w", vm, binding.ErrNoUUID)
		case vm.Name == node.Name && older:
			return fmt.Errorf("vm %s: %w: %s", vm, ErrUUIDChanged, vm.Status.BiosUUID)
		}
	}
	if p.deletions.has(bound) || p.anyOther(node, listed) {
		return nil
	}
	return fmt.Errorf("namespace %q of %s: %w: check namespace, token and ca.crt in %s", vms.Namespace(), p.connection.URL(), ErrWrongNamespace, p.connection.Directory())
}

// list reads the VirtualMachines of a namespace from the Supervisor's database.
func (p *Provider) list(ctx context.Context, namespace string) (all []*vmoperator.VirtualMachine, err error) {
	_, err = p.connection.List(ctx, vmoperator.VirtualMachines(p.opts.APIVersion), namespace, "", func(data []byte) error {
		vm, err := vmoperator.Decode(data)
		all = append(all, vm)
		return err
	})
	return all, err
}

// anyOther reports whether one of vms is the VM of another Node than node. A nil node stands for none.
func (p *Provider) anyOther(node *corev1.Node, vms []*vmoperator.VirtualMachine) bool {
	have := map[match.UUID]bool{}
	for _, vm := range vms {
		if vm.UUID != (match.UUID{}) {
			have[vm.UUID] = true
		}
	}
	for _, other := range p.allNodes() {
		if node != nil && other.Name == node.Name {
			continue
		}
		if u, err := match.ParseProviderID(other.Spec.ProviderID); err == nil && (have[u] || have[u.Swapped()]) {
			return true
		}
	}
	return false
}

// allNodes returns the cluster's Nodes; nil before they are known.
func (p *Provider) allNodes() []*corev1.Node {
	lister := p.nodes.Load()
	if lister == nil {
		return nil
	}
	all, err := (*lister).List(labels.Everything())
	if err != nil {
		return nil
	}
	return all
}

// changed returns how the cluster's Node differs from the one that a caller asked about; see [kubenode.Changed].
func (p *Provider) changed(node *corev1.Node) string {
	lister := p.nodes.Load()
	if lister == nil || node.Name == "" {
		return "" // the query is about a VM
	}
	now, err := (*lister).Get(node.Name)
	if err != nil {
		return "the node has been deleted"
	}
	return kubenode.Changed(node, now)
}

// maxWitnessed bounds the deletions that are remembered.
const maxWitnessed = 10_000

// witnessed are the VMs whose deletion the Supervisor reported to this process, on a watch: a list that lacks a VM may be of
// another namespace or another Supervisor, but a report of a deletion is of the one that had it.
type witnessed struct {
	mu  sync.Mutex
	all map[match.UUID]bool
}

func (w *witnessed) add(vm *vmoperator.VirtualMachine) {
	if vm.UUID == (match.UUID{}) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil || len(w.all) >= maxWitnessed {
		w.all = map[match.UUID]bool{}
	}
	w.all[vm.UUID] = true
}

func (w *witnessed) has(u match.UUID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[u] || w.all[u.Swapped()]
}

func (w *witnessed) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = nil
}
