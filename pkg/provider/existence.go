package provider

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

var (
	// ErrDeletionSkipped says that no vCenter has a node's VM, and that SKIP_NODE_DELETION keeps the node.
	ErrDeletionSkipped = errors.New("SKIP_NODE_DELETION keeps the node")
	// ErrDeletionHeldBack says that no search finds a node's VM, and that it cannot be said to be gone.
	ErrDeletionHeldBack = errors.New("deletion held back")
)

// InstanceExists implements [cloudprovider.InstancesV2]. False has the node deleted, so it is said only of a node with
// a vSphere providerID whose absence every vCenter has just confirmed; a node without one is never called gone, and
// neither is one whose system UUID is that of a VM which is there.
func (p *Provider) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	exists, err := p.now().instances().exists(ctx, node)
	if ctx.Err() == nil {
		p.nodes.events.existence(node, exists, err)
	}
	if exists {
		return true, nil
	}
	return false, err
}

// exists may return true together with an error, which is worth telling and changes nothing.
func (i instances) exists(ctx context.Context, node *v1.Node) (bool, error) {
	i.inv = counting(i.inv, i.metrics, node)
	exists, err := i.there(ctx, node)
	return exists, wrap(err, fmt.Sprintf("node %q", node.Name))
}

func (i instances) there(ctx context.Context, node *v1.Node) (bool, error) {
	vm, err := i.match(node)
	if err == nil {
		if i.choices.guestFirst {
			_, err = i.addresses(vm, node)
		}
		return err == nil, err
	}
	var stale *staleError
	switch {
	case node.Spec.ProviderID == "" || !errors.Is(err, inventory.ErrNotFound):
		return false, err
	case i.cfg.SkipNodeDeletion:
		return false, fmt.Errorf("%w: %w", ErrDeletionSkipped, err)
	case errors.As(err, &stale):
		return false, fmt.Errorf("%w: %w", ErrDeletionHeldBack, err)
	}
	u, err := i.boundTo(node)
	if err != nil {
		return false, err
	}
	err = i.inv.ConfirmAbsent(ctx, u)
	switch {
	case err == nil, i.choices.searchSuffices && inventory.OnlyUnseen(err):
		return false, nil
	case errors.Is(err, inventory.ErrStillThere):
		return true, err
	}
	return false, fmt.Errorf("%w: %w", ErrDeletionHeldBack, err)
}
