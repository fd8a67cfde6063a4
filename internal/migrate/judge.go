package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// Files that lines go to, as reports call them.
const (
	toCloud   = "vsphere.conf: "
	toCSI     = "csi-vsphere.conf: "
	toClasses = "storageclasses.yaml: "
)

// dropped is the verdict on a key that says nothing any more.
func dropped(why string) func(*conversion, located) judgment {
	return func(*conversion, located) judgment { return judgment{verdict: Dropped, why: why} }
}

// carried is the verdict on a key that stays one, in vsphere.conf and, unless csi is empty, in csi-vsphere.conf.
func carried(yaml, csi string) func(*conversion, located) judgment {
	return func(c *conversion, at located) judgment {
		if empty(at) {
			return judgment{verdict: Dropped, why: saysNothing}
		}
		users := c.users(at, func(p *plan) bool { return !p.own[strings.ToLower(at.entry.Key)] })
		if len(users) == 0 {
			return judgment{verdict: Dropped, why: everyOwn}
		}
		j := judgment{verdict: Kept, to: []string{toCloud + c.cloudPlace(users, yaml)}}
		if csi != "" {
			j.to = append(j.to, toCSI+c.csiPlace(users, csi))
		}
		return j
	}
}

func empty(at located) bool { return !says(at.entry) }

// says is whether an entry says anything. Of the keys that may stand alone there is one.
func says(e config.INIEntry) bool {
	switch key := strings.ToLower(e.Key); key {
	case "insecure-flag":
		return e.Bare || e.Value != ""
	case "datacenters", "ip-family":
		return strings.Trim(e.Value, " \t,") != ""
	case "public-network", "default-datastore", "datastore":
		return strings.TrimSpace(e.Value) != ""
	}
	return e.Value != ""
}

// users are the vCenters that a key is for: the one in whose section it is, or those that inherit it.
func (c *conversion) users(at located, inherits func(*plan) bool) []*plan {
	if at.of != nil {
		return []*plan{at.of}
	}
	var users []*plan
	for _, p := range c.plans {
		if inherits(p) {
			users = append(users, p)
		}
	}
	return users
}

// cloudPlace is a key of vCenters in vsphere.conf.
func (c *conversion) cloudPlace(users []*plan, key string) string {
	if len(users) == len(c.plans) && len(users) > 1 {
		return "vcenter.*." + key
	}
	var all []string
	for _, p := range users {
		all = append(all, "vcenter."+p.was.Tenant+"."+key)
	}
	return shorten.List(all, 3)
}

// csiPlace is a key of vCenters in csi-vsphere.conf.
func (c *conversion) csiPlace(users []*plan, key string) string {
	if len(users) == len(c.plans) && len(users) > 1 {
		return "[VirtualCenter *] " + key
	}
	var all []string
	for _, p := range users {
		all = append(all, fmt.Sprintf("[VirtualCenter %q] %s", p.was.Server, key))
	}
	return shorten.List(all, 3)
}

func judgeGlobal(*conversion, *plan) judgment {
	return judgment{verdict: Changed, to: []string{toCloud + "vcenter"}, why: "what is global is written with every vCenter that has nothing of its own"}
}

func judgeVCenter(_ *conversion, p *plan) judgment {
	return judgment{verdict: Kept, to: []string{toCloud + "vcenter." + p.was.Tenant, fmt.Sprintf("%s[VirtualCenter %q]", toCSI, p.was.Server)}}
}

func judgeWorkspace(c *conversion, _ *plan) judgment {
	if _, from := c.defaultDatastore(); from == "Workspace" && len(c.datastoreUsers()) > 0 {
		return judgment{verdict: Moved, to: []string{strings.TrimSuffix(toClasses, ": ")}, why: "only the datastore is left of it: " + noWorkspace}
	}
	return judgment{verdict: Dropped, why: noWorkspace}
}

func judgeNetwork(c *conversion, _ *plan) judgment {
	if c.publicNetwork() == "" {
		return judgment{verdict: Dropped, why: saysNothing}
	}
	if c.dialect == OutOfTree {
		return judgment{verdict: Dropped, why: notReadOutside}
	}
	return judgment{verdict: Changed, to: []string{toCloud + "nodes"}, why: "addresses are chosen by what nodes says"}
}

func judgeDisk(*conversion, *plan) judgment { return judgment{verdict: Dropped, why: noController} }

func judgeLabels(c *conversion, _ *plan) judgment {
	if c.cfg.Labels == (config.Labels{}) {
		return judgment{verdict: Dropped, why: saysNothing}
	}
	return judgment{verdict: Kept, to: []string{toCloud + "labels"}}
}

func judgeNodes(c *conversion, _ *plan) judgment {
	for _, s := range c.sections {
		if strings.EqualFold(s.Name, "Nodes") && slices.ContainsFunc(s.Entries, says) {
			return judgment{verdict: Kept, to: []string{toCloud + "nodes"}}
		}
	}
	return judgment{verdict: Dropped, why: saysNothing}
}
