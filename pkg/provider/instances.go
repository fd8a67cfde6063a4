package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// vmIndex is the part of [inventory.Inventory] that instances uses.
type vmIndex interface {
	ByUUID(match.UUID) inventory.Result
	ByHostName(name string) inventory.Result
	ByIP(netip.Addr) inventory.Result
	Datacenter(*inventory.VM) string
	Zone(*inventory.VM) (inventory.Zone, error)
	ConfirmAbsent(context.Context, match.UUID) error
	Locate(*inventory.VM) (inventory.Location, error)
	ConfirmRemoved(context.Context, inventory.Location, match.UUID) error
}

// instances answers queries about nodes, each from one generation throughout. It writes no Events: [Provider]'s methods
// do.
type instances struct {
	inv     vmIndex
	cfg     *config.Config
	labels  map[string]string
	choices choices
	metrics *metrics.Metrics // nil for none
}

func (g *generation) instances() instances {
	return instances{inv: g.inv, cfg: g.cfg, labels: g.opts.NodeLabels, choices: choicesOf(g.opts.Parity), metrics: g.metrics}
}

var _ cloudprovider.InstancesV2 = (*Provider)(nil)

// InstanceMetadata implements [cloudprovider.InstancesV2]. It answers from the index, without a call to a vCenter.
// Anything still unknown is an error, and the caller retries. For a node that is not initialized it first writes the
// annotation [VMAnnotation]. An initialized node keeps the region and zone of its labels while tags are missing, so that
// its addresses can be updated.
func (p *Provider) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	m, err := p.now().instances().metadata(node)
	p.nodes.events.metadata(node, m, err)
	if m == nil {
		p.enqueueAnnotation(node)
		return nil, err
	}
	if err := p.annotateFirst(ctx, node, m); err != nil {
		return nil, err
	}
	p.enqueueAnnotation(node)
	return m, nil
}

// InstanceShutdown implements [cloudprovider.InstancesV2]. It uses the power state alone, because the guest of a VM that is
// off reports nothing. Suspended counts as shut down.
func (p *Provider) InstanceShutdown(_ context.Context, node *corev1.Node) (bool, error) {
	off, err := p.now().instances().shutdown(node)
	p.nodes.events.shutdown(node, err)
	return off, err
}

// metadata returns both metadata and an error if the error is worth reporting but does not prevent the answer.
func (i instances) metadata(node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	vm, err := i.find(node)
	if err != nil {
		return nil, err
	}
	if vm.UUID == (match.UUID{}) {
		return nil, fmt.Errorf("node %q: vm %s: its uuid is not known yet", node.Name, vm)
	}
	addresses, warning, err := i.selected(vm, node)
	zone, zoneErr := i.zone(vm)
	if err != nil || zoneErr != nil && (!initialized(node) || i.choices.zoneHoldsAddresses) {
		return nil, fmt.Errorf("node %q: %w", node.Name, joinErrors(err, zoneErr))
	}
	if other, ok, _ := i.elsewhere(node, vm.UUID); ok {
		warning = joinErrors(&match.StaleError{ProviderID: node.Spec.ProviderID, RunsOn: other.String()}, warning)
	}
	if zoneErr != nil {
		zone = inventory.Zone{Region: node.Labels[corev1.LabelTopologyRegion], Zone: node.Labels[corev1.LabelTopologyZone]}
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       match.ProviderID(vm.UUID),
		InstanceType:     instanceType(vm),
		NodeAddresses:    addresses,
		Zone:             zone.Zone,
		Region:           zone.Region,
		AdditionalLabels: maps.Clone(i.labels),
	}, wrap(joinErrors(zoneErr, warning), fmt.Sprintf("node %q", node.Name))
}

// find returns the VM of a node from the index. An error that wraps [match.ErrNotFound] means only that the index has none.
func (i instances) find(node *corev1.Node) (*inventory.VM, error) {
	i.inv = counting(i.inv, i.metrics, node)
	vm, err := i.match(node)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", node.Name, err)
	}
	return vm, nil
}

func (i instances) match(node *corev1.Node) (*inventory.VM, error) {
	if node.Spec.ProviderID == "" && i.choices.nameDecides {
		return i.byExactName(node)
	}
	a := match.Find(kubenode.Facts(node), i.inv, i.choices.Choices)
	return a.VM, a.Err
}

func (i instances) elsewhere(node *corev1.Node, bound match.UUID) (other *inventory.VM, ok bool, doubt error) {
	return match.Elsewhere(kubenode.Facts(node), bound, i.inv, i.choices.Choices)
}

// initialized reports whether the node has lost the taint that it registers with.
func initialized(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
}

// joinErrors is [errors.Join] on one line, for logs and Events.
func joinErrors(a, b error) error {
	if a == nil || b == nil {
		return errors.Join(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

func wrap(err error, subject string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", subject, err)
}
