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

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// edit is the outcome of reading a changed file.
type edit struct {
	cfg *config.Config
	err error
}

// edited passes the newest edit to reload.
func (p *Provider) edited(cfg *config.Config, err error) {
	select {
	case <-p.edits: // drop an older one that reload has not read
	default:
	}
	p.edits <- edit{cfg, err}
}

// refresh reads the file again before anything has started, because a replica that was not the leader may have waited for
// days. Nothing is in force yet, so any setting may differ. reload reports a file that cannot be used.
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

// reload applies changes of the configuration until ctx ends.
func (p *Provider) reload(ctx context.Context) {
	if p.file != nil {
		p.running.Go(func() { p.file.Run(ctx) })
	}
	r := &reloader{Provider: p, ctx: ctx, wanted: p.now().cfg, authorities: authorities{}}
	r.authorities.changedSince(r.wanted)
	defer r.drop()
	tick := time.NewTicker(p.opts.ConfigPeriod)
	defer tick.Stop()
	for {
		select {
		case e := <-p.edits:
			r.edit(e)
		case <-r.proposalReady():
			r.activate()
		case <-tick.C:
			r.checkFiles()
		case <-ctx.Done():
			return
		}
	}
}

// reloader applies changes of the configuration, always the newest. Only reload's goroutine uses it.
type reloader struct {
	*Provider
	ctx    context.Context
	wanted *config.Config // the file's last valid content

	authorities authorities

	proposal *proposal // the generation that will replace the one in force; nil for none
	partial  bool      // a part of wanted waits for the next start
	warning  string    // the current warning: why a part of wanted is not in force
}

func (r *reloader) edit(e edit) {
	if e.err != nil {
		r.log.Warn("cloud config rejected", "err", e.err)
		r.metrics.Reload(metrics.Refused)
		r.warn(ReasonConfigRejected, "the last valid configuration stays in force: "+e.err.Error())
		return
	}
	r.logWarnings(e.cfg)
	r.wanted = e.cfg
	r.propose()
}

// checkFiles checks the files of certificate authorities for changes, and whether a late proposal can be put in force.
func (r *reloader) checkFiles() {
	if names := r.authorities.changedSince(r.now().cfg); len(names) > 0 {
		r.log.Info("certificate authorities changed", "changed", names)
		r.events.config(r.now().cfg, corev1.EventTypeNormal, ReasonConfigReloaded, "in force for new connections: "+strings.Join(names, ", "))
	}
	if r.proposal != nil && r.proposal.late {
		r.activate()
	}
}

// authorities are the last seen contents of the files of certificate authorities. Clients read the files for every
// connection; this only detects changes, so that they can be reported.
type authorities map[string][sha256.Size]byte

// checkFiles returns which vCenters' files have changed since the last call. It skips unreadable files, which may be about to be
// replaced.
func (a authorities) changedSince(cfg *config.Config) (changed []string) {
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

// merged returns what of wanted may take effect while nodes are watched. A connection stays entirely as it is if wanted removes
// or moves it, or reads fewer of its datacenters: otherwise nodes whose VMs are no longer watched would be reported gone.
// missing returns the datacenters of a tenant that do not exist: correcting their names removes none.
func merged(inForce, wanted *config.Config, missing func(tenant string) []absent.Name) *config.Config {
	m := *wanted
	m.NSX, m.LoadBalancer, m.Route = mergedNSX(inForce, wanted)
	m.VCenters = nil
	next := successors(inForce, wanted, missing)
	taken, claimed := map[string]bool{}, map[string]bool{} // tenants of the result; of wanted
	for _, vc := range inForce.VCenters {
		is := vc
		if n, ok := next[vc.Tenant]; ok {
			claimed[n.Tenant] = true
			if !dropsDatacenter(vc.Datacenters, n.Datacenters, missing(vc.Tenant)) && (n.Tenant == vc.Tenant || !hasTenant(inForce, n.Tenant)) {
				is = n
			}
		}
		taken[is.Tenant] = true
		m.VCenters = append(m.VCenters, is)
	}
	for _, vc := range wanted.VCenters {
		if !taken[vc.Tenant] && !claimed[vc.Tenant] {
			m.VCenters = append(m.VCenters, vc)
		}
	}
	slices.SortFunc(m.VCenters, func(a, b config.VCenter) int { return strings.Compare(a.Tenant, b.Tenant) })
	return &m
}

// mergedNSX returns what of NSX may take effect while Services are watched. Whether there are load balancers decides at the start
// whether there is a service controller, and routes whether there is a route controller. Another NSX Manager, or another gateway of
// routes, has none of the objects.
func mergedNSX(inForce, wanted *config.Config) (*config.NSX, *config.LoadBalancer, *config.Route) {
	is, to := inForce.NSX, wanted.NSX
	if (is == nil) != (to == nil) || is != nil && is.Host != to.Host || (inForce.LoadBalancer == nil) != (wanted.LoadBalancer == nil) ||
		(inForce.Route == nil) != (wanted.Route == nil) {
		return is, inForce.LoadBalancer, inForce.Route
	}
	return to, wanted.LoadBalancer, inForce.Route
}

// successors returns the wanted configuration of each connection that is still wanted, by its name in force. A connection is
// identified by its server, and if there are several to one server by its name, too. The name may change: then it is one to
// this server that no other connection is, with as many of its datacenters as possible.
func successors(inForce, wanted *config.Config, missing func(tenant string) []absent.Name) map[string]config.VCenter {
	next, claimed := map[string]config.VCenter{}, map[string]bool{}
	claim := func(vc config.VCenter, is func(config.VCenter) bool) {
		i := slices.IndexFunc(wanted.VCenters, func(o config.VCenter) bool { return config.SameServer(o, vc) && !claimed[o.Tenant] && is(o) })
		if _, known := next[vc.Tenant]; !known && i >= 0 {
			next[vc.Tenant] = wanted.VCenters[i]
			claimed[wanted.VCenters[i].Tenant] = true
		}
	}
	for _, vc := range inForce.VCenters {
		claim(vc, func(o config.VCenter) bool { return o.Tenant == vc.Tenant })
	}
	for _, vc := range inForce.VCenters {
		claim(vc, func(o config.VCenter) bool {
			return !dropsDatacenter(vc.Datacenters, o.Datacenters, missing(vc.Tenant))
		})
	}
	for _, vc := range inForce.VCenters {
		claim(vc, func(config.VCenter) bool { return true })
	}
	return next
}

func hasTenant(cfg *config.Config, tenant string) bool {
	return slices.ContainsFunc(cfg.VCenters, func(vc config.VCenter) bool { return vc.Tenant == tenant })
}

// dropsDatacenter reports whether to omits a datacenter of from. An empty list means all datacenters. A name in missing may be
// replaced by another one.
func dropsDatacenter(from, to []string, missing []absent.Name) bool {
	if len(to) == 0 {
		return false
	}
	if len(from) == 0 {
		return true
	}
	replaced := 0
	for _, dc := range from {
		if slices.Contains(to, dc) {
			continue
		}
		if !slices.ContainsFunc(missing, func(n absent.Name) bool { return n.Kind == absent.Datacenter && n.Name == dc }) {
			return true
		}
		replaced++
	}
	return replaced > len(slices.DeleteFunc(slices.Clone(to), func(dc string) bool { return slices.Contains(from, dc) }))
}

// proposal is a generation that runs but is not in force.
type proposal struct {
	*generation
	changed []string   // names of the changed settings
	ready   chan error // receives the outcome of the wait for its inventories
	stop    context.CancelFunc
	late    bool // ReloadWait has passed
}

// proposalReady returns a channel that delivers when the proposal's vCenters are in sync, or ReloadWait has passed.
func (r *reloader) proposalReady() <-chan error {
	if r.proposal == nil {
		return nil
	}
	return r.proposal.ready
}

// propose replaces the proposal by one for what is wanted, as far as that may take effect without a restart.
func (r *reloader) propose() {
	r.drop()
	inForce := r.now()
	cfg := merged(inForce.cfg, r.wanted, inForce.missing)
	changed, err := config.Changes(inForce.cfg, cfg)
	later, err2 := config.Changes(cfg, r.wanted)
	if err := errors.Join(err, err2); err != nil {
		r.reject(err)
		return
	}
	if r.partial = len(later) > 0; r.partial {
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

// drop stops the proposal.
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

// activate puts the proposal in force, unless a vCenter that can be queried now could not be queried after that.
func (r *reloader) activate() {
	c, before := r.proposal, r.now()
	if err := lostVCenters(before, c.generation); err != nil {
		if !c.late {
			c.late = true
			r.log.Warn("cloud config delayed", "changed", c.changed, "err", err)
			r.warn(ReasonConfigDelayed, fmt.Sprintf(
				"changed: %s: takes effect as soon as the vCenter can be used with it; the previous configuration stays in force until then: %v", strings.Join(c.changed, ", "), err))
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
	notify.Wake(r.namesChanged)
	r.serveBalancer(c.generation)
	r.running.Go(func() {
		before.end()
		r.closeManager(before)
	})
	r.keep(c.generation)
	r.metrics.Reload(metrics.Applied)
	r.log.Info("cloud config reloaded", "changed", c.changed)
	r.events.config(c.cfg, corev1.EventTypeNormal, ReasonConfigReloaded, "in force: "+strings.Join(c.changed, ", "))
	if strings.HasPrefix(r.warning, ReasonConfigDelayed) {
		r.warning = ""
	}
	if r.opts.Resyncer != nil {
		r.opts.Resyncer.ChangedAll()
	}
}

// lostVCenters returns an error about the connections that from can query and to cannot.
func lostVCenters(from, to *generation) error {
	next := successors(from.cfg, to.cfg, from.missing)
	var err error
	for _, vc := range from.cfg.VCenters {
		n, ok := next[vc.Tenant]
		if !ok || from.inv.Doubt(vc.Tenant) != nil {
			continue
		}
		err = errors.Join(err, to.inv.Doubt(n.Tenant))
	}
	return err
}

// needsRestart reports settings that take effect at the next start.
func (r *reloader) needsRestart(names []string) {
	r.metrics.Reload(metrics.NeedsRestart)
	r.log.Warn("cloud config needs a restart", "changed", names)
	r.warn(ReasonConfigNeedsRestart,
		"takes effect at the next start, because "+whyRestart(names)+": "+strings.Join(names, ", "))
}

// whyRestart returns why settings take effect at the next start.
func whyRestart(names []string) string {
	ofNSX := func(name string) bool {
		section, _, _ := strings.Cut(name, ".")
		return slices.Contains([]string{"nsxt", "loadBalancer", "loadBalancerClass", "route"}, section)
	}
	if slices.ContainsFunc(names, func(name string) bool { return !ofNSX(name) }) {
		return "nodes whose VMs are no longer watched would be reported gone"
	}
	return "load balancers and routes in NSX would be left without an owner"
}

func (r *reloader) reject(err error) {
	r.keep(r.now())
	r.metrics.Reload(metrics.Refused)
	r.log.Warn("cloud config rejected", "err", err)
	r.warn(ReasonConfigRejected, "the previous configuration stays in force: "+err.Error())
}

// settled clears the warning, since everything wanted may take effect. If it is in force already, settled reports that.
func (r *reloader) settled(already bool) {
	if r.warning == "" {
		return
	}
	r.warning = ""
	if already {
		r.log.Info("cloud config is in force unchanged")
		r.events.config(r.now().cfg, corev1.EventTypeNormal, ReasonConfigReloaded, "the configuration is in force unchanged")
	}
}

// warn writes a warning unless it repeats the current one.
func (r *reloader) warn(reason, message string) {
	if text := reason + ": " + message; text != r.warning {
		r.warning = text
		r.events.config(r.now().cfg, corev1.EventTypeWarning, reason, message)
	}
}
