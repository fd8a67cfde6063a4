package config

import "net/netip"

// Config is a read, inherited and checked configuration: every vCenter has its own values, nothing is left to look up
// in the global section.
type Config struct {
	// Format is the form the file was written in.
	Format Format
	// VCenters are in the order of their tenant names.
	VCenters []VCenter
	// Labels name the tag categories of region and zone. Zones are known only when both are set.
	Labels Labels
	Nodes  Nodes

	// SkipNodeDeletion is whether SKIP_NODE_DELETION is in the environment: no node is reported gone then, ever.
	SkipNodeDeletion bool
	// AlphaDualStack is whether ENABLE_ALPHA_DUAL_STACK is in the environment. Upstream's provider refuses two address
	// families without it.
	AlphaDualStack bool

	// Warnings are for the operator: what is valid and has no effect, "FILE:LINE: KEY: why" each.
	Warnings []string
}

// Format is a form of the file.
type Format string

// The forms. An empty one is a configuration of environment variables alone.
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

	// User and Password are set when the credentials are in the configuration itself. Else one of Secret and
	// SecretsDirectory, a directory with a file for each key of a Secret (see [ReadSecretsDirectory]), says where.
	User, Password   string
	Secret           SecretRef
	SecretsDirectory string

	InsecureFlag bool
	CAFile       string
	Thumbprint   string
	// Datacenters are names, inventory paths or references like Datacenter:datacenter-3; all when there are none.
	Datacenters        []string
	SOAPRoundtripCount int
	// IPFamilies are the families to report addresses of, in order of preference.
	IPFamilies []IPFamily
}

// SecretRef names a Secret in the cluster; the zero value names none.
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

// Labels are names of tag categories.
type Labels struct {
	Region string `yaml:"region"`
	Zone   string `yaml:"zone"`
}

// Nodes says which of a VM's addresses become which of a node's.
type Nodes struct {
	InternalSubnets, ExternalSubnets               []netip.Prefix
	ExcludeInternalSubnets, ExcludeExternalSubnets []netip.Prefix
	InternalVMNetwork, ExternalVMNetwork           string
}
