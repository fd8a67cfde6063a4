package csi

import (
	"context"
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/metrics"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
)

// Status returns how every vCenter fares, from memory: connected, and in sync when it is known which VMs, hosts and
// datastores it has.
func (e *Engine) Status(ctx context.Context) []health.Status {
	clients := e.source.Clients()
	all := make([]health.Status, len(clients))
	for i, c := range clients {
		s := health.Status{Tenant: c.Name(), Connected: c.State().Connected, Err: c.State().Err}
		// In sync it is known that there is no such datastore.
		_, err := e.nodes.SegmentsOf(ctx, c.Name(), "")
		if s.Synced = err == nil || errors.Is(err, volume.ErrNotFound); !s.Synced {
			s.Err = err
		}
		all[i] = s
	}
	return all
}

// Ready returns why nothing can be done at all; nil when one vCenter is in sync.
func (e *Engine) Ready(ctx context.Context) error {
	if _, known := e.informer.Nodes(); !known {
		return errors.New("the cluster's nodes are not known yet")
	}
	var errs []error
	for _, s := range e.Status(ctx) {
		if s.Connected && s.Synced {
			return nil
		}
		errs = append(errs, s.Err)
	}
	return errors.Join(errs...)
}

// WaitReady waits until everything is known of every vCenter, or returns what is not when ctx ends.
func (e *Engine) WaitReady(ctx context.Context) error { return e.nodes.WaitSynced(ctx) }

// measures is what metrics tell of the vCenters.
func measures(all []health.Status) []metrics.VCenter {
	var list []metrics.VCenter
	for _, s := range all {
		list = append(list, metrics.VCenter{Name: s.Tenant, Connected: s.Connected, Synced: s.Synced})
	}
	return list
}
