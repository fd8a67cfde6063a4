package parity

import (
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// scenario is a topology with a configuration, on which every side runs.
type scenario struct {
	name     string
	topology string
	settings []topology.Setting
	// config edits vsphere.conf.
	config func(conf string) string
	// latency is added to every call to a vCenter.
	latency time.Duration
	// break says to power off one VM and to destroy another, and steady how long to count calls before.
	breakVMs bool
	steady   time.Duration
}

const scenarios = "../../scenarios/"

func small() []scenario {
	return []scenario{
		{name: "zones-us-eu", topology: scenarios + "zones-us-eu.yaml", breakVMs: true},
		{name: "zones-per-cluster", topology: scenarios + "zones-per-cluster.yaml"},
		{name: "single", topology: scenarios + "single.yaml"},
		{name: "dual-stack", topology: "testdata/dual-stack.yaml", config: global("ipFamily: [ipv4, ipv6]")},
		{name: "dual-stack, IPv6 alone", topology: "testdata/dual-stack.yaml", config: global("ipFamily: [ipv6]")},
		{name: "multi-nic", topology: "testdata/multi-nic.yaml"},
		{
			name: "multi-nic, by network", topology: "testdata/multi-nic.yaml",
			config: nodes("internalVmNetworkName: nodes", "externalVmNetworkName: Public"),
		},
		{
			name: "multi-nic, by subnet", topology: "testdata/multi-nic.yaml",
			config: nodes(`internalNetworkSubnetCidr: "10.20.0.0/24"`, `externalNetworkSubnetCidr: "203.0.113.0/24"`,
				`excludeInternalNetworkSubnetCidr: "10.20.0.11/32,10.20.0.12/32"`),
		},
	}
}

func large() []scenario {
	settings := []topology.Setting{{Name: "nodes", Value: nodesPerDatacenter()}}
	return []scenario{
		{name: "thousand", topology: "testdata/thousand.yaml", settings: settings, breakVMs: true, steady: *steady},
		{name: "thousand, slow vCenters", topology: "testdata/thousand.yaml", settings: settings, latency: *latency},
	}
}

// global adds a key to the global section.
func global(line string) func(string) string {
	return func(conf string) string { return strings.Replace(conf, "global:\n", "global:\n  "+line+"\n", 1) }
}

// nodes adds a section.
func nodes(lines ...string) func(string) string {
	return func(conf string) string { return conf + "nodes:\n  " + strings.Join(lines, "\n  ") + "\n" }
}
