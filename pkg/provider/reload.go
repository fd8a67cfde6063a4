package provider

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
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

// authorities are the files of certificate authorities as they were last seen. Clients read them for every connection
// they make; this only notices, so that it can be told.
type authorities map[string][sha256.Size]byte

// look returns which vCenters' files have another content than the last time. One that cannot be read counts for
// nothing: it may be about to be replaced.
func (a authorities) look(cfg *config.Config) (changed []string) {
	now := authorities{}
	for _, vc := range cfg.VCenters {
		if vc.CAFile == "" {
			continue
		}
		before, known := a[vc.CAFile]
		data, err := os.ReadFile(vc.CAFile)
		if err != nil {
			continue
		}
		now[vc.CAFile] = sha256.Sum256(data)
		if known && now[vc.CAFile] != before {
			changed = append(changed, "vcenter."+vc.Tenant+".caFile (its content)")
		}
	}
	maps.Copy(a, now)
	return changed
}

// merged is what of wanted may take the place of inForce while nodes are watched. A vCenter that is no longer there, or
// that is somewhere else, or of which fewer datacenters are looked at, stays entirely as it is: nodes whose VMs nobody
// looks at any more would be called gone.
func merged(inForce, wanted *config.Config) *config.Config {
	m := *wanted
	m.VCenters = nil
	taken := map[string]bool{} // tenants
	for _, vc := range inForce.VCenters {
		next, ok := successor(vc, wanted)
		if !ok || narrower(vc.Datacenters, next.Datacenters) || next.Tenant != vc.Tenant && named(inForce, next.Tenant) {
			next = vc
		}
		taken[next.Tenant] = true
		m.VCenters = append(m.VCenters, next)
	}
	for _, vc := range wanted.VCenters {
		if !taken[vc.Tenant] && !slices.ContainsFunc(m.VCenters, func(o config.VCenter) bool { return sameServer(o, vc) }) {
			m.VCenters = append(m.VCenters, vc)
		}
	}
	slices.SortFunc(m.VCenters, func(a, b config.VCenter) int { return strings.Compare(a.Tenant, b.Tenant) })
	return &m
}

// successor returns what a vCenter has become. Its server and port say which it is, not the name that the file gives it:
// that one may change, unless another vCenter has it.
func successor(vc config.VCenter, wanted *config.Config) (config.VCenter, bool) {
	i := slices.IndexFunc(wanted.VCenters, func(o config.VCenter) bool { return sameServer(o, vc) })
	if i < 0 {
		return vc, false
	}
	return wanted.VCenters[i], true
}

func named(cfg *config.Config, tenant string) bool {
	return slices.ContainsFunc(cfg.VCenters, func(vc config.VCenter) bool { return vc.Tenant == tenant })
}

func sameServer(a, b config.VCenter) bool {
	return strings.EqualFold(a.Server, b.Server) && a.Port == b.Port
}

// narrower reports whether a datacenter that is looked at would no longer be. None means all.
func narrower(from, to []string) bool {
	if len(to) == 0 {
		return false
	}
	return len(from) == 0 || slices.ContainsFunc(from, func(dc string) bool { return !slices.Contains(to, dc) })
}

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

// needsRestart tells what has to wait for the next start.
func (r *reloader) needsRestart(names []string) {
	r.metrics.Reload(metrics.NeedsRestart)
	r.log.Warn("cloud config needs a restart", "changed", names)
	r.tell(ReasonConfigNeedsRestart,
		"takes effect at the next start, since nodes whose VMs are no longer looked at would be called gone: "+strings.Join(names, ", "))
}

func (r *reloader) reject(err error) {
	r.keep(r.now())
	r.metrics.Reload(metrics.Refused)
	r.log.Warn("cloud config rejected", "err", err)
	r.tell(ReasonConfigRejected, "what was in force stays: "+err.Error())
}

// settled ends what was told: everything wanted may be in force. When it is so already nothing else will say it.
func (r *reloader) settled(already bool) {
	if r.told == "" {
		return
	}
	r.told = ""
	if already {
		r.log.Info("cloud config is in force as it is")
		r.events.config(r.now().cfg, corev1.EventTypeNormal, ReasonConfigReloaded, "the configuration is in force as it is")
	}
}

// tell writes a warning about what is wanted, once as long as nothing else is told.
func (r *reloader) tell(reason, message string) {
	if text := reason + ": " + message; text != r.told {
		r.told = text
		r.events.config(r.now().cfg, corev1.EventTypeWarning, reason, message)
	}
}
