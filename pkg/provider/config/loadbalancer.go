package config

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// LoadBalancer configures load balancers in NSX.
type LoadBalancer struct {
	// Size is that of the load balancer service: one of [LoadBalancerSizes].
	Size string
	// LBServiceID is the load balancer service to use; empty for one that the provider makes at Tier1GatewayPath.
	LBServiceID, Tier1GatewayPath string
	SNATDisabled                  bool
	// Tags are added to all objects, by scope. The scope "owner" replaces the name of the provider.
	Tags map[string]string
	// Classes are by name, [DefaultClass] always among them. What a class does not say is as in the default class.
	Classes map[string]LoadBalancerClass
}

// LoadBalancerClass says which IP pool and application profiles a load balancer uses: by identifier or path, or by name.
type LoadBalancerClass struct {
	IPPoolName, IPPoolID                 string
	TCPAppProfileName, TCPAppProfilePath string
	UDPAppProfileName, UDPAppProfilePath string
}

// DefaultClass is the class of Services without a class.
const DefaultClass = "default"

// LoadBalancerSizes returns the sizes of a load balancer service.
func LoadBalancerSizes() []string { return []string{"SMALL", "MEDIUM", "LARGE", "XLARGE", "DLB"} }

// balancers is the section of load balancers as written.
type balancers struct {
	at position

	size, lbServiceID, tier1GatewayPath cell[string]
	snatDisabled                        cell[bool]
	tags                                cell[map[string]string]
	class                               balancerClass // the default
}

// balancerClass is a class of load balancers as written.
type balancerClass struct {
	at position

	ipPoolName, ipPoolID                 cell[string]
	tcpAppProfileName, tcpAppProfilePath cell[string]
	udpAppProfileName, udpAppProfilePath cell[string]
}

func balancerFields() []field[balancers] {
	all := []field[balancers]{
		{"size", "size", "", "", func(b *balancers) any { return &b.size }},
		{"lbServiceId", "lb-service-id", "", "", func(b *balancers) any { return &b.lbServiceID }},
		{"tier1GatewayPath", "tier1-gateway-path", "", "", func(b *balancers) any { return &b.tier1GatewayPath }},
		{"snatDisabled", "snat-disabled", "", "", func(b *balancers) any { return &b.snatDisabled }},
		{"tags", "tags", "", "", func(b *balancers) any { return &b.tags }},
	}
	for _, f := range classFields() {
		all = append(all, field[balancers]{yaml: f.yaml, ini: f.ini, into: func(b *balancers) any { return f.into(&b.class) }})
	}
	return all
}

func classFields() []field[balancerClass] {
	return []field[balancerClass]{
		{"ipPoolName", "ip-pool-name", "", "", func(c *balancerClass) any { return &c.ipPoolName }},
		{"ipPoolId", "ip-pool-id", "", "", func(c *balancerClass) any { return &c.ipPoolID }},
		{"tcpAppProfileName", "tcp-app-profile-name", "", "", func(c *balancerClass) any { return &c.tcpAppProfileName }},
		{"tcpAppProfilePath", "tcp-app-profile-path", "", "", func(c *balancerClass) any { return &c.tcpAppProfilePath }},
		{"udpAppProfileName", "udp-app-profile-name", "", "", func(c *balancerClass) any { return &c.udpAppProfileName }},
		{"udpAppProfilePath", "udp-app-profile-path", "", "", func(c *balancerClass) any { return &c.udpAppProfilePath }},
	}
}

// classOf returns the section of a class, created at the position if it does not exist.
func (f *file) classOf(name string, at position) *balancerClass {
	c := f.classes[name]
	if c == nil {
		if f.classes == nil {
			f.classes = map[string]*balancerClass{}
		}
		c = &balancerClass{at: at}
		f.classes[name] = c
	}
	return c
}

func (b *balancers) said() bool {
	return b.size.set || b.lbServiceID.set || b.tier1GatewayPath.set || b.class.ipPoolName.set || b.class.ipPoolID.set
}

// resolveLoadBalancer returns the load balancers, and nil if none are configured.
func (f *file) resolveLoadBalancer(p *problems) *LoadBalancer {
	b := &f.balancers
	at := b.at
	if at.line == 0 {
		for _, name := range slices.Sorted(maps.Keys(f.classes)) {
			at = f.classes[name].at
			break
		}
	}
	switch {
	case !b.said() && len(f.classes) == 0:
		if b.at.line > 0 && (b.snatDisabled.set || b.tags.set || b.class != (balancerClass{})) {
			p.warn(b.at, "has no effect: set size, tier1GatewayPath and an IP pool")
		}
		return nil
	case !f.nsxt.said():
		p.warn(at, "has no effect without nsxt, which says where NSX is")
		return nil
	}
	r := &LoadBalancer{
		Size: b.size.value, LBServiceID: b.lbServiceID.value, Tier1GatewayPath: b.tier1GatewayPath.value,
		SNATDisabled: b.snatDisabled.value, Classes: map[string]LoadBalancerClass{},
	}
	if len(b.tags.value) > 0 {
		r.Tags = b.tags.value
	}
	b.check(at, r.Tags, p)
	standard := b.class.over(balancerClass{})
	if own := f.classes[DefaultClass]; own != nil {
		standard = own.over(standard)
	}
	standard.check(at, p)
	r.Classes[DefaultClass] = standard.resolve()
	for _, name := range slices.Sorted(maps.Keys(f.classes)) {
		c := f.classes[name]
		if name == "" || strings.TrimSpace(name) != name {
			p.at(c.at, "", "the name of a class is a value of an annotation: it has no spaces around it")
		}
		c.checkPaths(p)
		if name != DefaultClass {
			r.Classes[name] = c.over(standard).resolve()
		}
	}
	return r
}

// maxTags is how many tags an object of NSX may have beyond the provider's own.
const maxTags = 24

// check validates single values.
func (b *balancers) check(at position, tags map[string]string, p *problems) {
	sizes := LoadBalancerSizes()
	switch {
	case !b.size.set:
		p.at(at, "", "size is missing: %s", strings.Join(sizes, ", "))
	case b.size.good() && !slices.Contains(sizes, b.size.value):
		hint := ""
		if best := nearest.Of(b.size.value, sizes); best != "" {
			hint = "did you mean " + best + "?"
		}
		p.at(b.size.at, hint, "%q is none of %s", b.size.value, strings.Join(sizes, ", "))
	}
	if !b.lbServiceID.set && !b.tier1GatewayPath.set {
		p.at(at, "", "tier1GatewayPath is missing (/infra/tier-1s/NAME), or lbServiceId of a load balancer service that exists")
	}
	if b.tier1GatewayPath.good() && !strings.HasPrefix(b.tier1GatewayPath.value, "/") {
		p.at(b.tier1GatewayPath.at, "write /infra/tier-1s/"+b.tier1GatewayPath.value+" for the gateway of that name", "%q is no path", b.tier1GatewayPath.value)
	}
	b.class.checkPaths(p)
	if len(tags) > maxTags {
		p.at(b.tags.at, "", "has %d tags, and %d are possible beside the provider's own", len(tags), maxTags)
	}
	for _, scope := range slices.Sorted(maps.Keys(tags)) {
		switch {
		case scope == "":
			p.at(b.tags.at, "", "the scope of a tag is empty")
		case slices.Contains([]string{"cluster", "service", "port", "ippoolid", "lbclass"}, scope):
			p.at(b.tags.at, "choose another scope", "the scope %q is the provider's own", scope)
		}
	}
}

// over returns the class with what it does not say from another one. A name and an identifier of one thing are one setting: a
// class that says the one does not get the other.
func (c balancerClass) over(other balancerClass) balancerClass {
	for _, pair := range []struct{ own, from [2]*cell[string] }{
		{[2]*cell[string]{&c.ipPoolName, &c.ipPoolID}, [2]*cell[string]{&other.ipPoolName, &other.ipPoolID}},
		{[2]*cell[string]{&c.tcpAppProfileName, &c.tcpAppProfilePath}, [2]*cell[string]{&other.tcpAppProfileName, &other.tcpAppProfilePath}},
		{[2]*cell[string]{&c.udpAppProfileName, &c.udpAppProfilePath}, [2]*cell[string]{&other.udpAppProfileName, &other.udpAppProfilePath}},
	} {
		if !pair.own[0].set && !pair.own[1].set {
			*pair.own[0], *pair.own[1] = *pair.from[0], *pair.from[1]
		}
	}
	return c
}

// check reports what the default class must have.
func (c balancerClass) check(at position, p *problems) {
	switch {
	case !c.ipPoolName.set && !c.ipPoolID.set:
		p.at(at, "", "ipPoolName or ipPoolId is missing: the IP pool of Services without a class")
	case c.ipPoolName.set && c.ipPoolID.set:
		p.at(c.ipPoolName.at, "", "set either ipPoolName or ipPoolId")
	}
	if !c.tcpAppProfileName.set && !c.tcpAppProfilePath.set {
		p.at(at, "NSX has default-tcp-lb-app-profile", "tcpAppProfileName or tcpAppProfilePath is missing")
	}
	if !c.udpAppProfileName.set && !c.udpAppProfilePath.set {
		p.at(at, "NSX has default-udp-lb-app-profile", "udpAppProfileName or udpAppProfilePath is missing")
	}
}

// checkPaths validates single values.
func (c *balancerClass) checkPaths(p *problems) {
	for _, path := range []cell[string]{c.tcpAppProfilePath, c.udpAppProfilePath} {
		if path.good() && !strings.HasPrefix(path.value, "/") && !strings.HasPrefix(path.value, "infra/") {
			p.at(path.at, "write /infra/lb-app-profiles/"+path.value+", or its name as a profile name", "%q is no path", path.value)
		}
	}
	if strings.HasPrefix(c.ipPoolID.value, "/") {
		p.at(c.ipPoolID.at, "write "+c.ipPoolID.value[strings.LastIndex(c.ipPoolID.value, "/")+1:], "%q is a path, not an identifier", c.ipPoolID.value)
	}
}

func (c balancerClass) resolve() LoadBalancerClass {
	return LoadBalancerClass{
		c.ipPoolName.value, c.ipPoolID.value, c.tcpAppProfileName.value, c.tcpAppProfilePath.value, c.udpAppProfileName.value, c.udpAppProfilePath.value,
	}
}

// setTags sets tags from JSON, as INI has them.
func setTags(dst *cell[map[string]string], text string, at position, p *problems) {
	tags := map[string]string{}
	d := json.NewDecoder(strings.NewReader(text))
	err := d.Decode(&tags)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("more follows after it")
		}
	}
	if err != nil {
		p.at(at, `write {\"SCOPE\": \"TAG\"}`, "must be a JSON object of texts: %v", err)
		dst.setBad(at)
		return
	}
	if len(tags) > 0 {
		dst.put(tags, at)
	}
}

// tags reads a mapping of texts.
func (r *yamlReader) tags(e entry) (map[string]string, bool) {
	if e.value.Kind != yaml.MappingNode {
		r.p.at(e.at, "write {SCOPE: TAG}", "must be a mapping, not %s", strict.Describe(e.value))
		return nil, false
	}
	tags := map[string]string{}
	for _, t := range r.entries(e.value, e.at.path) {
		if t.value.Kind != yaml.ScalarNode {
			r.p.at(t.at, "", "must be text, not %s", strict.Describe(t.value))
			return nil, false
		}
		if !strict.IsNull(t.value) {
			tags[t.key] = t.value.Value
		} else {
			tags[t.key] = ""
		}
	}
	return tags, true
}

type normalBalancer struct {
	Size             string            `yaml:"size"`
	LBServiceID      string            `yaml:"lbServiceId,omitempty"`
	Tier1GatewayPath string            `yaml:"tier1GatewayPath,omitempty"`
	SNATDisabled     bool              `yaml:"snatDisabled"`
	Tags             map[string]string `yaml:"tags,omitempty"`
	normalClass      `yaml:",inline"`
}

type normalClass struct {
	IPPoolName        string `yaml:"ipPoolName,omitempty"`
	IPPoolID          string `yaml:"ipPoolId,omitempty"`
	TCPAppProfileName string `yaml:"tcpAppProfileName,omitempty"`
	TCPAppProfilePath string `yaml:"tcpAppProfilePath,omitempty"`
	UDPAppProfileName string `yaml:"udpAppProfileName,omitempty"`
	UDPAppProfilePath string `yaml:"udpAppProfilePath,omitempty"`
}

// balancersTo sets the sections of NSX and its load balancers.
func (c *Config) balancersTo(n *normal) {
	if x := c.NSX; x != nil {
		n.NSXT = &normalNSX{
			x.Host, x.User, x.Password, x.Secret.Name, x.Secret.Namespace, x.ClientAuthCertFile, x.ClientAuthKeyFile,
			x.VMCAccessToken, x.VMCAuthHost, x.RemoteAuth, x.InsecureFlag, x.CAFile,
		}
	}
	b := c.LoadBalancer
	if b == nil {
		return
	}
	n.LoadBalancer = &normalBalancer{b.Size, b.LBServiceID, b.Tier1GatewayPath, b.SNATDisabled, b.Tags, normalClass(b.Classes[DefaultClass])}
	for name, class := range b.Classes {
		if name == DefaultClass {
			continue
		}
		if n.LoadBalancerClass == nil {
			n.LoadBalancerClass = map[string]normalClass{}
		}
		n.LoadBalancerClass[name] = normalClass(class)
	}
}
