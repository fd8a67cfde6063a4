package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// proposal is a generation that has begun, and is not in force.
type proposal struct {
	*generation
	changed []string   // the names of what it changes
	ready   chan error // receives the outcome of the wait for its inventories
	stop    context.CancelFunc
	late    bool // ReloadWait has passed
}

// synced delivers when the proposal's vCenters are in sync, or ReloadWait has passed.
func (r *reloader) synced() <-chan error {
	if r.proposal == nil {
		return nil
	}
	return r.proposal.ready
}

// propose makes a proposal of what is wanted, as far as that may change, in place of the one there may be.
func (r *reloader) propose() {
	r.drop()
	inForce := r.now()
	cfg := merged(inForce.cfg, r.wanted)
	changed, err := config.Changes(inForce.cfg, cfg)
	later, err2 := config.Changes(cfg, r.wanted)
	if err := errors.Join(err, err2); err != nil {
		r.reject(err)
		return
	}
	if r.held = len(later) > 0; r.held {
		r.needsRestart(later)
	} else {
		r.settled(len(changed) == 0)
	}
	if len(changed) == 0 {
		return
	}
	g, err := r.generation(cfg, inForce)
	if err != nil {
		r.reject(err)
		return
	}
	c := &proposal{generation: g, changed: changed, ready: make(chan error, 1)}
	r.proposal = c
	r.next.Store(g)
	g.run(r.ctx)
	r.running.Go(func() { <-g.ended })
	ctx, cancel := context.WithTimeout(r.ctx, r.opts.ReloadWait)
	c.stop = cancel
	r.running.Go(func() { c.ready <- g.inv.WaitSynced(ctx) })
}

// drop ends the proposal.
func (r *reloader) drop() {
	if r.proposal == nil {
		return
	}
	r.proposal.stop()
	r.next.Store(nil)
	r.proposal.end()
	r.keep(r.now())
	r.proposal = nil
}

// put puts the proposal in force, unless a vCenter that can be asked now could not be asked then.
func (r *reloader) put() {
	c, before := r.proposal, r.now()
	if err := worse(before, c.generation); err != nil {
		if !c.late {
			c.late = true
			r.log.Warn("cloud config delayed", "changed", c.changed, "err", err)
			r.tell(ReasonConfigDelayed, fmt.Sprintf(
				"changed: %s: taken up as soon as the vCenter can be used that way; what was in force stays until then: %v", strings.Join(c.changed, ", "), err))
		}
		return
	}
	c.stop()
	r.proposal = nil
	r.current.Store(c.generation)
	r.next.Store(nil)
	for _, vc := range c.cfg.VCenters {
		r.adopt(c.clients[vc.Tenant], vc)
	}
	r.running.Go(before.end)
	r.keep(c.generation)
	r.metrics.Reload(metrics.Applied)
	r.log.Info("cloud config reloaded", "changed", c.changed)
	r.events.config(c.cfg, corev1.EventTypeNormal, ReasonConfigReloaded, "in force: "+strings.Join(c.changed, ", "))
	if strings.HasPrefix(r.told, ReasonConfigDelayed) {
		r.told = ""
	}
	if r.opts.Nudge != nil {
		r.opts.Nudge.Everything()
	}
}

// worse says which vCenter would be lost for lookups by a change from one generation to the other, nil for none.
func worse(from, to *generation) error {
	var err error
	for _, vc := range to.cfg.VCenters {
		doubt := to.inv.Doubt(vc.Tenant)
		if doubt == nil {
			continue
		}
		i := slices.IndexFunc(from.cfg.VCenters, func(o config.VCenter) bool { return sameServer(o, vc) })
		if i >= 0 && from.inv.Doubt(from.cfg.VCenters[i].Tenant) == nil {
			err = errors.Join(err, doubt)
		}
	}
	return err
}
