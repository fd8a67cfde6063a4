package config

import "net/netip"

// Config is a parsed and validated configuration. Every vCenter has all its values, those inherited from the global section
// included.
type Config struct {
	// Format is the format of the file.
	Format Format
	// VCenters are in the order of their tenant names.
	VCenters []VCenter
	// Labels name the tag categories of region and zone. Zones are known only when both are set.
	Labels Labels
	Nodes  Nodes

	// SkipNodeDeletion reports that the environment has SKIP_NODE_DELETION: no node is ever reported gone.
	SkipNodeDeletion bool
	// AlphaDualStack reports that the environment has ENABLE_ALPHA_DUAL_STACK. Upstream's provider refuses two address
	// families without it.
	AlphaDualStack bool

	// Warnings list valid settings without effect, "FILE:LINE: KEY: why" each.
	Warnings []string
}

// Format is the format of a file.
type Format string

// The formats. It is empty for a configuration from environment variables alone.
const (
	YAML Format = "yaml"
	INI  Format = "ini"
)

// VCenter is one vCenter to connect to.
type VCenter struct {
	// Tenant is the key of this vCenter in the file.
	Tenant string
	// Server is a host name or an IP address, without brackets or port.
	Server string
	Port   int

	// User and Password are set if the credentials are in the configuration. Otherwise they are in Secret or in
	// SecretsDirectory, a directory with a file for each key of a Secret (see [ReadSecretsDirectory]).
	User, Password   string
	Secret           SecretRef
	SecretsDirectory string

	InsecureFlag bool
	CAFile       string
	Thumbprint   string
	// Datacenters are names, inventory paths or references like Datacenter:datacenter-3; empty for all.
	Datacenters        []string
	SOAPRoundtripCount int
	// IPFamilies are the address families to report, in order of preference.
	IPFamilies []IPFamily
}

// SecretRef identifies a Secret; the zero value is no Secret.
type SecretRef struct {
	Namespace, Name string
}

// IPFamily is "ipv4" or "ipv6".
type IPFamily string

// The address families.
const (
	IPv4 IPFamily = "ipv4"
	IPv6 IPFamily = "ipv6"
)

// Labels are the names of the tag categories for region and zone.
type Labels struct {
	Region string `yaml:"region"`
	Zone   string `yaml:"zone"`
}

// Nodes selects which of a VM's addresses become a node's.
type Nodes struct {
	InternalSubnets, ExternalSubnets               []netip.Prefix
	ExcludeInternalSubnets, ExcludeExternalSubnets []netip.Prefix
	InternalVMNetwork, ExternalVMNetwork           string
}
