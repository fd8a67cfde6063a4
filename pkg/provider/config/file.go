package config

// file is vsphere.conf as written. Pointers tell a value that is absent from one that is empty.
type file struct {
	Global  endpoint            `yaml:"global"`
	VCenter map[string]endpoint `yaml:"vcenter"`
	Labels  Labels              `yaml:"labels"`
	Nodes   nodes               `yaml:"nodes"`

	// Sections that upstream's provider uses for NSX-T, which this one does not.
	NSXT              any `yaml:"nsxt"`
	LoadBalancer      any `yaml:"loadBalancer"`
	LoadBalancerClass any `yaml:"loadBalancerClass"`
	Route             any `yaml:"route"`
}

// endpoint is the global section or one vCenter; the second inherits from the first.
type endpoint struct {
	Server             string   `yaml:"server"`
	Port               *int     `yaml:"port"`
	User               string   `yaml:"user"`
	Password           string   `yaml:"password"`
	InsecureFlag       *bool    `yaml:"insecureFlag"`
	CAFile             string   `yaml:"caFile"`
	Thumbprint         string   `yaml:"thumbprint"`
	Datacenters        []string `yaml:"datacenters"`
	SOAPRoundtripCount *int     `yaml:"soapRoundtripCount"`
	SecretName         string   `yaml:"secretName"`
	SecretNamespace    string   `yaml:"secretNamespace"`
	IPFamily           []string `yaml:"ipFamily"`

	// Known to upstream, without effect there or here.
	APIDisable     any `yaml:"apiDisable"`
	APIBinding     any `yaml:"apiBinding"`
	ServiceAccount any `yaml:"serviceAccount"`
}

// nodes holds comma-separated lists, as upstream has them.
type nodes struct {
	InternalNetworkSubnetCIDR        string `yaml:"internalNetworkSubnetCidr"`
	ExternalNetworkSubnetCIDR        string `yaml:"externalNetworkSubnetCidr"`
	InternalVMNetworkName            string `yaml:"internalVmNetworkName"`
	ExternalVMNetworkName            string `yaml:"externalVmNetworkName"`
	ExcludeInternalNetworkSubnetCIDR string `yaml:"excludeInternalNetworkSubnetCidr"`
	ExcludeExternalNetworkSubnetCIDR string `yaml:"excludeExternalNetworkSubnetCidr"`
}
