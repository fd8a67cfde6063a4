package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
)

var (
	// ErrDeletionSkipped reports that no vCenter has a node's VM, and that SKIP_NODE_DELETION keeps the node.
	ErrDeletionSkipped = errors.New("SKIP_NODE_DELETION keeps the node")
	// ErrDeletionHeldBack reports that no search finds a node's VM, and that it is not confirmed gone either.
	ErrDeletionHeldBack = errors.New("deletion held back")

	errOutdated = errors.New("vm is gone, but")
)

// InstanceExists implements [cloudprovider.InstancesV2]. The caller deletes a node for which it returns false. It returns
// false only for a node with a vSphere providerID, when every vCenter has just confirmed that the VM is absent. It never
// does for a node without a providerID, for one whose system UUID belongs to an existing VM, and for one that changed
// while the vCenters were asked.
func (p *Provider) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	exists, err := p.exists(ctx, node)
	if ctx.Err() == nil && !errors.Is(err, errOutdated) {
		confirmed := ""
		if !exists && err == nil {
			confirmed = p.confirmation(node)
		}
		p.nodes.events.existence(node, exists, confirmed, err)
		p.reportAnnotation(node, exists)
	}
	p.enqueueAnnotation(node)
	if exists {
		return true, nil
	}
	return false, err
}

// confirmation returns the text of the Event that the VM of a node is gone: which vCenters confirmed it.
func (p *Provider) confirmation(node *corev1.Node) string {
	g := p.now()
	var asked []string
	for _, vc := range g.cfg.VCenters {
		asked = append(asked, vc.Tenant)
	}
	text := fmt.Sprintf("every configured vcenter (%s) confirms that it has no vm with providerID %s",
		strings.Join(asked, ", "), node.Spec.ProviderID)
	if choicesOf(g.opts.Parity).noAnnotation {
		return text
	}
	r, err := recordOf(node)
	if err != nil {
		return text + "; which vcenter the node was initialized from is not known"
	}
	return text + fmt.Sprintf("; its vcenter no longer has %q", r.VM)
}

// reportAnnotation reports an annotation that would have counted if it were readable.
func (p *Provider) reportAnnotation(node *corev1.Node, exists bool) {
	if exists || node.Spec.ProviderID == "" || choicesOf(p.opts.Parity).noAnnotation {
		return
	}
	if _, err := recordOf(node); err != nil && !errors.Is(err, errNoRecord) {
		p.nodes.events.annotation(node, err)
	}
}

// exists is [instances.exists], but returns errOutdated if the node or the configuration changed in between.
func (p *Provider) exists(ctx context.Context, node *corev1.Node) (bool, error) {
	g := p.now()
	if node.Name == "" { // a query for a VM, by providerID alone
		node = p.nodes.annotated(node)
	}
	exists, err := g.instances().exists(ctx, node)
	if exists || err != nil {
		return exists, err
	}
	if why := p.outdated(g, node); why != "" {
		return false, fmt.Errorf("node %q: %w: %s", node.Name, errOutdated, why)
	}
	return false, nil
}

// outdated returns what has changed while g was answering, or "" if the answer counts.
func (p *Provider) outdated(g *generation, node *corev1.Node) string {
	if p.now() != g {
		return "the configuration has changed"
	}
	return p.nodes.changed(node)
}

// exists may return true together with an error, which is worth reporting and changes nothing.
func (i instances) exists(ctx context.Context, node *corev1.Node) (bool, error) {
	i.inv = counting(i.inv, i.metrics, node)
	exists, err := i.vmExists(ctx, node)
	return exists, wrap(err, fmt.Sprintf("node %q", node.Name))
}

func (i instances) vmExists(ctx context.Context, node *corev1.Node) (bool, error) {
	vm, err := i.match(node)
	if err == nil {
		if i.choices.guestFirst {
			_, err = i.addresses(vm, node)
		}
		return err == nil, err
	}
	var stale *match.StaleError
	switch {
	case node.Spec.ProviderID != "" && errors.Is(err, match.ErrAmbiguous):
		return true, err // one of them is the node's
	case node.Spec.ProviderID == "" || !errors.Is(err, match.ErrNotFound):
		return false, err
	case i.cfg.SkipNodeDeletion:
		return false, fmt.Errorf("%w: %w", ErrDeletionSkipped, err)
	case errors.As(err, &stale):
		return false, fmt.Errorf("%w: %w", ErrDeletionHeldBack, err)
	}
	search := err
	uuids, err := i.identities(node)
	if err != nil {
		return false, err
	}
	// The reference first: a VM that is registered again in between gets a new one, and the searches find it.
	err = i.recordedVMGone(ctx, node, uuids[0])
	for _, u := range uuids {
		if err != nil {
			break
		}
		if err = i.inv.ConfirmAbsent(ctx, u); i.choices.searchSuffices && inventory.OnlyUnseen(err) {
			err = nil
		}
	}
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, inventory.ErrStillThere):
		return true, err
	case unavailable(search) && unavailable(err):
		return false, fmt.Errorf("%w: %w", ErrDeletionHeldBack, search) // which names the node's providerID
	}
	return false, fmt.Errorf("%w: %w", ErrDeletionHeldBack, err)
}

// identities returns the UUIDs that no VM may have if the node is gone: that of its providerID and, if different, that of
// the VM that its kubelet runs on.
func (i instances) identities(node *corev1.Node) ([]match.UUID, error) {
	facts := kubenode.Facts(node)
	u, err := match.BoundTo(facts, i.choices.Behavior)
	if err != nil {
		return nil, err
	}
	if system, ok := match.OtherUUID(facts, u, i.choices.Behavior); ok {
		return []match.UUID{u, system}, nil
	}
	return []match.UUID{u}, nil
}

// shutdown reports whether the node's VM is off. The system UUID may belong, or possibly belong, to another VM that is not
// off. Then the node runs there, and shutdown returns an error: a taint would keep pods off a running node.
func (i instances) shutdown(node *corev1.Node) (bool, error) {
	vm, err := i.find(node)
	if errors.Is(err, match.ErrAmbiguous) {
		vm, err = i.allOff(node, err)
	}
	if err != nil {
		return false, err
	}
	switch vm.Power {
	case types.VirtualMachinePowerStatePoweredOn:
		return false, nil
	case types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStateSuspended:
		other, ok, doubt := i.elsewhere(node, vm.UUID)
		if ok && other.Power == types.VirtualMachinePowerStatePoweredOn {
			doubt = &match.StaleError{ProviderID: node.Spec.ProviderID, RunsOn: other.String()}
		}
		if doubt != nil {
			return false, fmt.Errorf("node %q: vm %s is off, and %w", node.Name, vm, doubt)
		}
		return true, nil
	}
	return false, fmt.Errorf("node %q: vm %s: power state %q is unknown", node.Name, vm, vm.Power)
}

// allOff returns one of the VMs with the UUID of a node's providerID if all of them are off: guests that are off report no
// hostname to choose by, and the node's VM is off in any case. Otherwise it returns ambiguous.
func (i instances) allOff(node *corev1.Node, ambiguous error) (*inventory.VM, error) {
	if node.Spec.ProviderID == "" {
		return nil, ambiguous
	}
	u, err := match.BoundTo(kubenode.Facts(node), i.choices.Behavior)
	if err != nil {
		return nil, err
	}
	r := i.inv.ByUUID(u)
	isOn := func(vm *inventory.VM) bool {
		return vm.Power != types.VirtualMachinePowerStatePoweredOff && vm.Power != types.VirtualMachinePowerStateSuspended
	}
	if len(r.VMs) == 0 || r.Doubt != nil || slices.ContainsFunc(r.VMs, isOn) {
		return nil, ambiguous
	}
	return match.One(r, node.Name, match.Behavior{FirstOfSeveral: true})
}
