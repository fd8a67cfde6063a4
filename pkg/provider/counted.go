package provider

import (
	"context"
	"errors"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// countedIndex counts what an index is asked.
type countedIndex struct {
	vmIndex
	metrics *metrics.Metrics
	byUUID  metrics.Source // where the UUIDs come from
}

// counting returns an index that counts questions about the node as m has it.
func counting(index vmIndex, m *metrics.Metrics, node *corev1.Node) vmIndex {
	if m == nil {
		return index
	}
	c := countedIndex{vmIndex: index, metrics: m, byUUID: metrics.BySystemUUID}
	if node.Spec.ProviderID != "" {
		c.byUUID = metrics.ByProviderID
	}
	return c
}

func (c countedIndex) ByUUID(u match.UUID) inventory.Result {
	return c.count(c.byUUID, c.vmIndex.ByUUID(u))
}

func (c countedIndex) ByHostName(name string) inventory.Result {
	return c.count(metrics.ByHostName, c.vmIndex.ByHostName(name))
}

func (c countedIndex) ByIP(ip netip.Addr) inventory.Result {
	return c.count(metrics.ByAddress, c.vmIndex.ByIP(ip))
}

func (c countedIndex) count(source metrics.Source, r inventory.Result) inventory.Result {
	result := metrics.NotFound
	switch {
	case len(r.VMs) == 1:
		result = metrics.Found
	case len(r.VMs) > 1:
		result = metrics.Ambiguous
	case r.Doubt != nil:
		result = metrics.Unsure
	}
	c.metrics.Lookup(source, result)
	return r
}

// ConfirmRemoved implements vmIndex. It counts when it ends the confirmation; else ConfirmAbsent does.
func (c countedIndex) ConfirmRemoved(ctx context.Context, at inventory.Location, u match.UUID) error {
	err := c.vmIndex.ConfirmRemoved(ctx, at, u)
	if err != nil {
		c.metrics.Confirmation(outcomeOf(err))
	}
	return err
}

// ConfirmAbsent implements vmIndex.
func (c countedIndex) ConfirmAbsent(ctx context.Context, u match.UUID) error {
	err := c.vmIndex.ConfirmAbsent(ctx, u)
	c.metrics.Confirmation(outcomeOf(err))
	return err
}

func outcomeOf(err error) metrics.Outcome {
	switch {
	case err == nil:
		return metrics.Gone
	case errors.Is(err, inventory.ErrStillThere):
		return metrics.StillThere
	}
	return metrics.Doubt
}
