package config

import "net/netip"

// Config is a read, inherited and checked configuration: every vCenter has its own values, nothing is left to look up
// in the global section.
type Config struct {
	// VCenters are in the order of their tenant names.
	VCenters []VCenter
	// Labels name the tag categories of region and zone. Zones are known only when both are set.
	Labels Labels
	Nodes  Nodes
	// Warnings are for the operator: what is valid and has no effect.
	Warnings []string
}

// VCenter is one vCenter to connect to.
type VCenter struct {
	// Tenant is the key of this vCenter in the file.
	Tenant string
	Server string
	Port   int

	// User and Password are set when the credentials are in the file itself, Secret otherwise.
	User, Password string
	Secret         SecretRef

	InsecureFlag       bool
	CAFile             string
	Thumbprint         string
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
