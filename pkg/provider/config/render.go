package config

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Mask is what stands for a password in [Config.Masked].
const Mask = "********"

// Masked returns a copy without the passwords.
func (c *Config) Masked() *Config {
	masked := *c
	masked.VCenters = slices.Clone(c.VCenters)
	for i := range masked.VCenters {
		if masked.VCenters[i].Password != "" {
			masked.VCenters[i].Password = Mask
		}
	}
	return &masked
}

// normal is the form that YAML writes: everything in its place, defaults too.
type normal struct {
	Global  *normalGlobal            `yaml:"global,omitempty"`
	VCenter map[string]normalVCenter `yaml:"vcenter"`
	Labels  *Labels                  `yaml:"labels,omitempty"`
	Nodes   *normalNodes             `yaml:"nodes,omitempty"`
}

type normalGlobal struct {
	SecretsDirectory string `yaml:"secretsDirectory"`
}

type normalVCenter struct {
	Server             string     `yaml:"server"`
	Port               int        `yaml:"port"`
	User               string     `yaml:"user,omitempty"`
	Password           string     `yaml:"password,omitempty"`
	SecretName         string     `yaml:"secretName,omitempty"`
	SecretNamespace    string     `yaml:"secretNamespace,omitempty"`
	InsecureFlag       bool       `yaml:"insecureFlag"`
	CAFile             string     `yaml:"caFile,omitempty"`
	Thumbprint         string     `yaml:"thumbprint,omitempty"`
	Datacenters        []string   `yaml:"datacenters,omitempty"`
	SOAPRoundtripCount int        `yaml:"soapRoundtripCount"`
	IPFamily           []IPFamily `yaml:"ipFamily,flow"`
}

type normalNodes struct {
	InternalSubnets        string `yaml:"internalNetworkSubnetCidr,omitempty"`
	ExternalSubnets        string `yaml:"externalNetworkSubnetCidr,omitempty"`
	InternalVMNetwork      string `yaml:"internalVmNetworkName,omitempty"`
	ExternalVMNetwork      string `yaml:"externalVmNetworkName,omitempty"`
	ExcludeInternalSubnets string `yaml:"excludeInternalNetworkSubnetCidr,omitempty"`
	ExcludeExternalSubnets string `yaml:"excludeExternalNetworkSubnetCidr,omitempty"`
}

// YAML writes the configuration as upstream's YAML, which upstream's provider and [Load] both read as this
// configuration. Every vCenter has all its values, so that the global section holds only what has no place elsewhere.
// Passwords are written out: see [Config.Masked].
func (c *Config) YAML() ([]byte, error) {
	n := normal{VCenter: map[string]normalVCenter{}}
	for _, vc := range c.VCenters {
		if vc.SecretsDirectory != "" {
			n.Global = &normalGlobal{vc.SecretsDirectory} // they all have the same
		}
		n.VCenter[vc.Tenant] = normalVCenter{
			vc.Server, vc.Port, vc.User, vc.Password, vc.Secret.Name, vc.Secret.Namespace, vc.InsecureFlag, vc.CAFile,
			vc.Thumbprint, vc.Datacenters, vc.SOAPRoundtripCount, vc.IPFamilies,
		}
	}
	if c.Labels != (Labels{}) {
		n.Labels = &c.Labels
	}
	nodes := normalNodes{
		list(c.Nodes.InternalSubnets), list(c.Nodes.ExternalSubnets), c.Nodes.InternalVMNetwork, c.Nodes.ExternalVMNetwork,
		list(c.Nodes.ExcludeInternalSubnets), list(c.Nodes.ExcludeExternalSubnets),
	}
	if nodes != (normalNodes{}) {
		n.Nodes = &nodes
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// list writes networks without spaces: upstream does not trim them.
func list(prefixes []netip.Prefix) string {
	all := make([]string, len(prefixes))
	for i, p := range prefixes {
		all[i] = p.String()
	}
	return strings.Join(all, ",")
}
