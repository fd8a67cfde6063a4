package provider

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// The reasons of the Events about the names in the configuration.
const (
	// ReasonConfiguredNameMissing: a configured datacenter, tag category or VM network does not exist at a vCenter, or is
	// hidden from the account.
	ReasonConfiguredNameMissing = "ConfiguredNameMissing"
	// ReasonConfiguredNamesFound: all of them exist again.
	ReasonConfiguredNamesFound = "ConfiguredNamesFound"
)

// namesInterval is the least time between two checks of the configured names.
const namesInterval = time.Second

// watchNames reports configured names that a vCenter does not have: at the start, and whenever that changes.
func (p *Provider) watchNames(ctx context.Context) {
	reported := map[string]string{} // by tenant
	for {
		waits := p.checkNames(reported)
		if backoff.Sleep(ctx, namesInterval) != nil {
			return
		}
		if waits {
			continue
		}
		select {
		case <-p.namesChanged:
		case <-ctx.Done():
			return
		}
	}
}

// checkNames reports what differs from what was reported. It returns true while a reachable vCenter's names are not known
// yet.
func (p *Provider) checkNames(reported map[string]string) (waits bool) {
	g := p.now()
	for _, s := range g.inv.Status() {
		if !s.AbsentKnown {
			waits = waits || s.Doubt == nil
			continue // what was reported stays
		}
		text := absent.Join(s.Absent)
		if text == reported[s.VCenter] {
			continue
		}
		reported[s.VCenter] = text
		p.events.names(*g.clients[s.VCenter].vc.Load(), s.Absent)
		if text == "" {
			p.log.Info("configured names", "vcenter", s.VCenter, "missing", false)
		} else {
			p.log.Warn("configured names", "vcenter", s.VCenter, "missing", text)
		}
	}
	return waits
}

// missing returns the configured names that a tenant's vCenter is known not to have.
func (g *generation) missing(tenant string) []absent.Name {
	for _, s := range g.inv.Status() {
		if s.VCenter == tenant {
			return s.Absent
		}
	}
	return nil
}

// names writes an Event about the configured names that a vCenter does not have; none means that it has all again.
func (n *notifier) names(vc config.VCenter, names []absent.Name) {
	n.do(func() {
		if len(names) == 0 {
			n.send(vc, corev1.EventTypeNormal, ReasonConfiguredNamesFound, subject(vc)+"every configured datacenter, tag category and network is found")
			return
		}
		n.send(vc, corev1.EventTypeWarning, ReasonConfiguredNameMissing, subject(vc)+sentence(absent.Join(names), consequence(names)))
	})
}

// consequence returns what follows from missing names, and what to do.
func consequence(names []absent.Name) string {
	if len(absent.Hiding(names)) > 0 {
		return "its VMs are not found, and no node is deleted: " + correctDatacenters
	}
	if slices.ContainsFunc(names, func(n absent.Name) bool { return n.Kind == absent.Category }) {
		return "nodes are not initialized without region and zone: correct the labels in vsphere.conf, or the category's name"
	}
	return "it selects no address: correct the network's name in vsphere.conf"
}

// correctDatacenters is what to do about a VM that is hidden by the datacenters of the configuration.
const correctDatacenters = "correct the datacenters in vsphere.conf, or let the account read them"

// networks returns the configured VM networks.
func networks(n config.Nodes) (names []string) {
	for _, name := range []string{n.InternalVMNetwork, n.ExternalVMNetwork} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}
