package provider

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// edit is what a changed file comes to: a configuration, or why it is none.
type edit struct {
	cfg *config.Config
	err error
}

// edited hands the newest edit to reload.
func (p *Provider) edited(cfg *config.Config, err error) {
	select {
	case <-p.edits: // an older one that nobody has looked at
	default:
	}
	p.edits <- edit{cfg, err}
}

// refresh reads the file again before anything has begun: a replica that was not the leader may have waited for days.
// Nothing is in force yet, so anything may differ. A file that cannot be used is told by reload.
func (p *Provider) refresh() {
	if p.file == nil {
		return
	}
	cfg, err := p.file.Load()
	if err != nil {
		return
	}
	if g, err := p.generation(cfg, nil); err == nil {
		p.current.Store(g)
		p.keep(g)
	}
}

// reload follows the configuration until ctx ends, and puts what may change in force.
func (p *Provider) reload(ctx context.Context) {
	if p.file != nil {
		p.running.Go(func() { p.file.Run(ctx) })
	}
	r := &reloader{Provider: p, ctx: ctx, wanted: p.now().cfg, authorities: authorities{}}
	r.authorities.look(r.wanted)
	defer r.drop()
	tick := time.NewTicker(p.opts.ConfigPeriod)
	defer tick.Stop()
	for {
		select {
		case e := <-p.edits:
			r.edit(e)
		case <-r.synced():
			r.put()
		case <-tick.C:
			r.look()
		case <-ctx.Done():
			return
		}
	}
}

// reloader takes up changes of the configuration: one at a time, the newest. It belongs to the goroutine of reload.
type reloader struct {
	*Provider
	ctx    context.Context
	wanted *config.Config // what the file said when it was last good

	authorities authorities

	proposal *proposal // the generation that is to take the place of the one in force; nil for none
	held     bool      // a part of what is wanted waits for the next start
	told     string    // the last thing that was told and is still so: why not everything wanted is in force
}

// edit takes note of a changed file.
func (r *reloader) edit(e edit) {
	if e.err != nil {
		r.log.Warn("cloud config rejected", "err", e.err)
		r.metrics.Reload(metrics.Refused)
		r.tell(ReasonConfigRejected, "what was read last stays in force: "+e.err.Error())
		return
	}
	r.warn(e.cfg)
	r.wanted = e.cfg
	r.propose()
}

// look notices files of certificate authorities that have changed, and a proposal that is late and need not be any more.
func (r *reloader) look() {
	if names := r.authorities.look(r.now().cfg); len(names) > 0 {
		r.log.Info("certificate authorities changed", "changed", names)
		r.events.config(r.now().cfg, corev1.EventTypeNormal, ReasonConfigReloaded, "in force for new connections: "+strings.Join(names, ", "))
	}
	if r.proposal != nil && r.proposal.late {
		r.put()
	}
}
