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
			j.to = append(j.to, c.csiPlace(users, csi)...)
		}
		if dcs := users[0].was.Datacenters; yaml == "datacenters" && len(dcs) > 1 && strings.Contains(strings.Join(dcs, ""), " ") { // a name with spaces may have a comma, too
			j.why = fmt.Sprintf("%d names, at its commas: %s", len(dcs), strings.Join(dcs, " | "))
		}
		return j
	}
}

func empty(at located) bool { return !says(at.entry) }

// says is whether an entry says anything. Of the keys that may stand alone there is one.
func says(e config.INIEntry) bool {
	switch key := strings.ToLower(e.Key); key {
	case "insecure-flag", "remote-auth", "snat-disabled":
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

// csiPlace is a key of vCenters in csi-vsphere.conf, as a destination; none if it has another connection to each of them.
func (c *conversion) csiPlace(users []*plan, key string) []string {
	users = slices.DeleteFunc(slices.Clone(users), func(p *plan) bool { return p.first != nil })
	if len(users) == 0 {
		return nil
	}
	if len(users) == len(c.plans) && len(users) > 1 {
		return []string{toCSI + "[VirtualCenter *] " + key}
	}
	var all []string
	for _, p := range users {
		all = append(all, fmt.Sprintf("[VirtualCenter %q] %s", p.was.Server, key))
	}
	return []string{toCSI + shorten.List(all, 3)}
}

func judgeGlobal(*conversion, *plan) judgment {
	return judgment{verdict: Changed, to: []string{toCloud + "vcenter"}, why: "global values are written with every vCenter that does not set them"}
}

func judgeVCenter(_ *conversion, p *plan) judgment {
	to := []string{toCloud + "vcenter." + p.was.Tenant}
	if p.first == nil {
		to = append(to, fmt.Sprintf("%s[VirtualCenter %q]", toCSI, p.was.Server))
	}
	return judgment{verdict: Kept, to: to}
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

const notReadOutside = "cloud-provider-vsphere does not read it, and this is a file of that"

func judgeServer(c *conversion, at located) judgment {
	if empty(at) {
		return judgment{verdict: Dropped, why: saysNothing}
	}
	if at.of != nil {
		return judgment{verdict: Kept, to: []string{toCloud + "vcenter." + at.of.was.Tenant + ".server"}}
	}
	for _, p := range c.plans {
		if !config.SameHost(p.was.Server, at.entry.Value) && !config.SameHost(p.was.Tenant, at.entry.Value) {
			continue
		}
		if c.hasSection(p) {
			return judgment{verdict: Dropped, why: "the vCenter's own section sets it too"}
		}
		return judgment{
			verdict: Changed, to: []string{toCloud + "vcenter." + p.was.Tenant, fmt.Sprintf("%s[VirtualCenter %q]", toCSI, p.was.Server)},
			why: "every vCenter has its own entry, even a single one",
		}
	}
	return judgment{}
}

// hasSection is whether a vCenter has one in the old file, and is not only the server of the global section.
func (c *conversion) hasSection(p *plan) bool {
	return slices.ContainsFunc(c.sections, func(s config.INISection) bool {
		return strings.EqualFold(s.Name, "VirtualCenter") && s.Sub == p.was.Tenant
	})
}

// judgeCredential is about half of a login: part is what its key in a Secret ends in.
func judgeCredential(part string) func(*conversion, located) judgment {
	return func(c *conversion, at located) judgment {
		if empty(at) {
			return judgment{verdict: Dropped, why: saysNothing}
		}
		users, inline := []*plan{}, false
		for _, p := range c.users(at, func(p *plan) bool { return !p.own[strings.ToLower(at.entry.Key)] }) {
			if p.secret != nil {
				users = append(users, p)
			}
		}
		for _, p := range c.plans {
			inline = inline || p.secret != nil
		}
		switch {
		case len(users) == 0 && (at.of != nil || !inline):
			return judgment{verdict: Dropped, why: secretFirst}
		case len(users) == 0:
			return judgment{verdict: Dropped, why: everyOwn}
		}
		var secrets []string
		for _, p := range users {
			secrets = append(secrets, fmt.Sprintf("%s/%s %s", p.secret.Namespace, p.secret.Name, secretKeys(p.was.Server).key(part)))
		}
		return judgment{
			verdict: Moved, to: append([]string{"Secret: " + shorten.List(secrets, 3)}, c.csiPlace(users, strings.ToLower(at.entry.Key))...),
			why: "credentials are kept in Secrets, not in a file that is in a ConfigMap",
		}
	}
}

// judgeReference is about half of a Secret's name.
func judgeReference(yaml string, half func(config.SecretRef) string) func(*conversion, located) judgment {
	return func(c *conversion, at located) judgment {
		if empty(at) {
			return judgment{verdict: Dropped, why: saysNothing}
		}
		var users []*plan
		lacking := false
		for _, p := range c.users(at, func(p *plan) bool {
			return !p.own["secret-name"] && !p.own["secret-namespace"] && !p.own["user"] && !p.own["password"]
		}) {
			if half(p.was.Secret) != "" {
				users = append(users, p)
				lacking = lacking || p.csi.User == ""
			}
		}
		if len(users) == 0 {
			return judgment{verdict: Dropped, why: everyOwn}
		}
		j := judgment{verdict: Kept, to: []string{toCloud + c.cloudPlace(users, yaml)}}
		if lacking {
			j.why = "the Secret stays as it is; csi-vsphere.conf can name none, and lacks the credentials"
		}
		return j
	}
}

func judgeDirectory(c *conversion, at located) judgment {
	if empty(at) {
		return judgment{verdict: Dropped, why: saysNothing}
	}
	for _, p := range c.plans {
		if p.was.SecretsDirectory != "" {
			return judgment{
				verdict: Kept, to: []string{toCloud + "global.secretsDirectory"},
				why: "the directory stays as it is; csi-vsphere.conf can name none, and lacks the credentials",
			}
		}
	}
	return judgment{verdict: Dropped, why: everyOwn}
}

// judgeDatacenter is about the one datacenter of the in-tree provider's old form. Where vCenters had sections it was for
// those that no list was for.
func judgeDatacenter(c *conversion, at located) judgment {
	users := c.plans
	switch {
	case empty(at):
		return judgment{verdict: Dropped, why: saysNothing}
	case c.dialect == OutOfTree && (c.hasVCenters() || c.globalList()):
		return judgment{verdict: Dropped, why: "had no effect beside sections of vCenters or a list of datacenters"}
	case c.dialect == InTree:
		users = c.users(at, func(p *plan) bool { return !p.own["datacenters"] })
	}
	if len(users) == 0 {
		return judgment{verdict: Dropped, why: everyOwn}
	}
	j := judgment{
		verdict: Changed, to: append([]string{toCloud + c.cloudPlace(users, "datacenters")}, c.csiPlace(users, "datacenters")...),
		why: "is a list now, of one",
	}
	if c.dialect == InTree && strings.Contains(at.entry.Value, ",") {
		j.why = "is a list now: nodes were looked for in each of what its commas part"
	}
	return j
}

func judgeInsecure(c *conversion, at located) judgment {
	j := carried("insecureFlag", "insecure-flag")(c, at)
	for _, p := range c.users(at, func(p *plan) bool { return !p.own["insecure-flag"] }) {
		if j.verdict == Kept && p.was.InsecureFlag {
			j.why = "the vCenter's certificate is not verified, as before; set a thumbprint or a ca-file"
		}
	}
	return j
}

func judgeCAFile(c *conversion, at located) judgment {
	j := carried("caFile", "ca-file")(c, at)
	if j.verdict == Kept {
		j.why = underPods
		c.attend("mount the CA file " + at.entry.Value + " into the pods of the cloud controller manager and of the CSI controller")
	}
	return j
}

func judgeClusterID(c *conversion, at located) judgment {
	switch {
	case empty(at):
		return judgment{verdict: Dropped, why: saysNothing}
	case c.opts.ClusterID != "" && c.opts.ClusterID != at.entry.Value:
		return judgment{verdict: Changed, to: []string{toCSI + "[Global] cluster-id"}, why: "the one that was asked for takes its place"}
	}
	return judgment{verdict: Moved, to: []string{toCSI + "[Global] cluster-id"}, why: "is the CSI driver's alone"}
}

func judgeLabel(key string) func(*conversion, located) judgment {
	return func(c *conversion, at located) judgment {
		if empty(at) {
			return judgment{verdict: Dropped, why: saysNothing}
		}
		j := judgment{verdict: Kept, to: []string{toCloud + "labels." + key}}
		if c.zones() {
			j.to = append(j.to, toCSI+"[Labels] topology-categories")
		} else {
			j.why = "has no effect, as before: region and zone are needed together"
		}
		return j
	}
}

// zones is whether there are regions and zones.
func (c *conversion) zones() bool { return c.cfg.Labels.Region != "" && c.cfg.Labels.Zone != "" }

func judgeNode(yaml string) func(*conversion, located) judgment {
	return func(_ *conversion, at located) judgment {
		if empty(at) {
			return judgment{verdict: Dropped, why: saysNothing}
		}
		return judgment{verdict: Kept, to: []string{toCloud + "nodes." + yaml}}
	}
}

func judgeSubnets(yaml string, of func(config.Nodes) string) func(*conversion, located) judgment {
	return func(c *conversion, at located) judgment {
		j := judgeNode(yaml)(c, at)
		if now := of(c.cfg.Nodes); j.verdict == Kept && now != at.entry.Value {
			j.verdict, j.why = Changed, "is written as "+now+", which is the same"
		}
		return j
	}
}

func judgePublic(c *conversion, at located) judgment {
	switch {
	case empty(at):
		return judgment{verdict: Dropped, why: saysNothing}
	case c.dialect == OutOfTree:
		return judgment{verdict: Dropped, why: notReadOutside}
	}
	c.attend("see that the VM of every node has an adapter in the network " + oneLine(c.publicNetwork()) + ", those of the control plane too: " +
		"one without gets no address, and is not initialized. The in-tree provider took the addresses of a control plane from its own machine. " +
		"Where some have none, take internalVmNetworkName and externalVmNetworkName out of vsphere.conf and the ConfigMap")
	return judgment{
		verdict: Changed, to: []string{toCloud + "nodes.internalVmNetworkName", toCloud + "nodes.externalVmNetworkName"},
		why: "an address in that network was a node's internal and external one",
	}
}

func judgeDatastore(c *conversion, at located) judgment {
	name, from := c.defaultDatastore()
	switch {
	case empty(at):
		return judgment{verdict: Dropped, why: saysNothing}
	case c.dialect == OutOfTree:
		return judgment{verdict: Dropped, why: notReadOutside}
	case !strings.EqualFold(at.section.Name, from):
		return judgment{verdict: Dropped, why: "had no effect: where there are sections of vCenters, [Workspace] says it, else [Global]"}
	}
	users := c.datastoreUsers()
	switch {
	case len(users) > 0:
		return judgment{verdict: Moved, to: []string{toClasses + shorten.List(users, 3)}, why: "there is no default datastore: a class names one, by its URL"}
	case len(c.classes) > 0 && !c.wantsDefault():
		return judgment{verdict: Dropped, why: "no class needs it: each names its own datastore or storage policy"}
	}
	return judgment{verdict: Dropped, why: fmt.Sprintf("a class names a datastore by its URL, and that of %s is not known", name)}
}
