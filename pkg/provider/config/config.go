package config

import (
	"net/netip"
)

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
	// LoadBalancer configures load balancers in NSX, and Route routes to pods. Each is nil for none, and NSX for neither.
	NSX          *NSX
	LoadBalancer *LoadBalancer
	Route        *Route

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

// field is one key of a section in each format; an empty name means that the format does not have it.
type field[S any] struct {
	// yaml and ini are the names in files.
	yaml, ini string
	// env is the name of the environment variable after VSPHERE_ or NSXT_, and vcEnv after VCENTER_<id>_.
	env, vcEnv string
	// into returns the cell for the value; nil for a known key without effect.
	into func(*S) any
}

// named returns the field with this name in a format.
func named[S any](fields []field[S], form func(field[S]) string, name string) (field[S], bool) {
	for _, f := range fields {
		if name != "" && form(f) == name {
			return f, true
		}
	}
	return field[S]{}, false
}

func names[S any](fields []field[S], form func(field[S]) string) []string {
	var list []string
	for _, f := range fields {
		if name := form(f); name != "" {
			list = append(list, name)
		}
	}
	return list
}

func yamlName[S any](f field[S]) string { return f.yaml }
func iniName[S any](f field[S]) string  { return f.ini }

// vcenterFields are the keys of one vCenter.
func vcenterFields() []field[endpoint] {
	return []field[endpoint]{
		{"server", "server", "VCENTER", "SERVER", func(e *endpoint) any { return &e.server }},
		{"port", "port", "VCENTER_PORT", "PORT", func(e *endpoint) any { return &e.port }},
		{"user", "user", "USER", "USERNAME", func(e *endpoint) any { return &e.user }},
		{"password", "password", "PASSWORD", "PASSWORD", func(e *endpoint) any { return &e.password }},
		{"insecureFlag", "insecure-flag", "INSECURE", "INSECURE", func(e *endpoint) any { return &e.insecureFlag }},
		{"caFile", "ca-file", "CAFILE", "CAFILE", func(e *endpoint) any { return &e.caFile }},
		{"thumbprint", "thumbprint", "THUMBPRINT", "THUMBPRINT", func(e *endpoint) any { return &e.thumbprint }},
		{"datacenters", "datacenters", "DATACENTER", "DATACENTERS", func(e *endpoint) any { return &e.datacenters }},
		{"soapRoundtripCount", "soap-roundtrip-count", "ROUNDTRIP_COUNT", "ROUNDTRIP", func(e *endpoint) any { return &e.soapRoundtripCount }},
		{"secretName", "secret-name", "SECRET_NAME", "SECRET_NAME", func(e *endpoint) any { return &e.secretName }},
		{"secretNamespace", "secret-namespace", "SECRET_NAMESPACE", "SECRET_NAMESPACE", func(e *endpoint) any { return &e.secretNamespace }},
		{"ipFamily", "ip-family", "", "IP_FAMILY", func(e *endpoint) any { return &e.ipFamily }},
		// Of a server in upstream's provider that no longer exists.
		{"apiDisable", "api-disable", "", "", nil},
		{"apiBinding", "api-binding", "", "", nil},
		{"serviceAccount", "service-account", "", "", nil},
	}
}

// globalFields are the keys of the global section: those of a vCenter and more. Keys in INI only are the in-tree provider's.
func globalFields() []field[endpoint] {
	return append(vcenterFields(),
		field[endpoint]{"secretsDirectory", "secrets-directory", "SECRETS_DIRECTORY", "", func(e *endpoint) any { return &e.secretsDirectory }},
		field[endpoint]{"", "datacenter", "", "", func(e *endpoint) any { return &e.datacenter1 }},
		field[endpoint]{ini: "datastore"},
		field[endpoint]{ini: "working-dir"},
		field[endpoint]{ini: "vm-uuid"},
		field[endpoint]{ini: "vm-name"},
		field[endpoint]{ini: "secret-not-managed"},
	)
}

func labelFields() []field[labels] {
	return []field[labels]{
		{"region", "region", "LABEL_REGION", "", func(l *labels) any { return &l.region }},
		{"zone", "zone", "LABEL_ZONE", "", func(l *labels) any { return &l.zone }},
	}
}

func nodeFields() []field[nodes] {
	return []field[nodes]{
		{"internalNetworkSubnetCidr", "internal-network-subnet-cidr", "NODES_INTERNAL_NETWORK_SUBNET_CIDR", "", func(n *nodes) any { return &n.internalSubnets }},
		{"externalNetworkSubnetCidr", "external-network-subnet-cidr", "NODES_EXTERNAL_NETWORK_SUBNET_CIDR", "", func(n *nodes) any { return &n.externalSubnets }},
		{"internalVmNetworkName", "internal-vm-network-name", "NODES_INTERNAL_VM_NETWORK_NAME", "", func(n *nodes) any { return &n.internalNetwork }},
		{"externalVmNetworkName", "external-vm-network-name", "NODES_EXTERNAL_VM_NETWORK_NAME", "", func(n *nodes) any { return &n.externalNetwork }},
		{"excludeInternalNetworkSubnetCidr", "exclude-internal-network-subnet-cidr", "", "", func(n *nodes) any { return &n.excludeInternalSubnets }},
		{"excludeExternalNetworkSubnetCidr", "exclude-external-network-subnet-cidr", "", "", func(n *nodes) any { return &n.excludeExternalSubnets }},
	}
}
