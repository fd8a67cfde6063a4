package topology

import "time"

// What a topology gets that does not say otherwise.
const (
	defaultRegionCategory = "k8s-region"
	defaultZoneCategory   = "k8s-zone"
	defaultNetwork        = "VM Network"
	defaultCapacity       = 1 * Ti
	defaultHostCPUs       = 16
	defaultHostMemory     = 64 * Gi
	defaultVMCPUs         = 2
	defaultVMMemory       = 4 * Gi
	defaultGuestID        = "ubuntu64Guest"
	defaultVersion        = "8.0.3"
	defaultSessionIdle    = 30 * time.Minute
	defaultSessionLimit   = 2000
	defaultDetect         = 15 * time.Second
	defaultRestart        = 10 * time.Second
	defaultPeriod         = 5 * time.Minute
	defaultLease          = time.Hour
)

// setDefaults fills in everything that does not depend on what else there is.
func setDefaults(t *Topology) {
	fill(&t.Spec.Seed, t.Metadata.Name)
	fill(&t.Spec.Categories.Region, defaultRegionCategory)
	fill(&t.Spec.Categories.Zone, defaultZoneCategory)
	for i := range t.Spec.TagCategories {
		fill(&t.Spec.TagCategories[i].Cardinality, CardinalitySingle)
	}
	for i := range t.Spec.VCenters {
		defaultVCenter(t, &t.Spec.VCenters[i])
	}
}

func defaultVCenter(t *Topology, vcenter *VCenter) {
	fill(&vcenter.Version, defaultVersion)
	fill(&vcenter.Sessions.Idle, Duration(defaultSessionIdle))
	fill(&vcenter.Sessions.Limit, defaultSessionLimit)
	defaultReactions(&vcenter.Reactions)
	hardware := ""
	if newest := newestHardware(vcenter.Version); newest > 0 {
		hardware = hardwareName(newest)
	}
	for i := range vcenter.Datacenters {
		dc := &vcenter.Datacenters[i]
		if len(dc.Datastores) == 0 {
			dc.Datastores = t.defaultDatastores(vcenter, dc)
		}
		defaultDatacenter(dc, hardware)
		defaultNodes(dc, t.Spec.Nodes)
	}
}

// defaultReactions gives those that are on what they need.
func defaultReactions(r *Reactions) {
	if r.HA.Enabled == Yes {
		fill(&r.HA.Detect, Duration(defaultDetect))
		fill(&r.HA.Restart, Duration(defaultRestart))
	}
	if r.DRS.Enabled == Yes {
		fill(&r.DRS.Period, Duration(defaultPeriod))
	}
	if r.DHCP.Enabled == Yes {
		fill(&r.DHCP.Lease, Duration(defaultLease))
	}
}

func defaultDatacenter(dc *Datacenter, hardware string) {
	if len(dc.Networks) == 0 {
		dc.Networks = []Network{{Name: defaultNetwork}}
	}
	for i := range dc.Datastores {
		fill(&dc.Datastores[i].Capacity, defaultCapacity)
		fill(&dc.Datastores[i].Type, VMFS)
	}
	for i := range dc.Clusters {
		defaultHosts(dc.Clusters[i].Hosts)
	}
	defaultHosts(dc.Hosts)
	for i := range dc.VMs {
		defaultVM(&dc.VMs[i], dc.Networks[0].Name)
		fill(&dc.VMs[i].HardwareVersion, hardware)
	}
}

func defaultHosts(hosts []Host) {
	for i := range hosts {
		fill(&hosts[i].CPUs, defaultHostCPUs)
		fill(&hosts[i].Memory, defaultHostMemory)
	}
}

func defaultVM(vm *VM, network string) {
	fill(&vm.CPUs, defaultVMCPUs)
	fill(&vm.Memory, defaultVMMemory)
	fill(&vm.GuestID, defaultGuestID)
	if vm.Template == Yes {
		fill(&vm.Power, PowerOff)
	}
	fill(&vm.Power, PowerOn)
	if len(vm.NICs) == 0 {
		vm.NICs = []NIC{{}}
	}
	for i := range vm.NICs {
		fill(&vm.NICs[i].Network, network)
	}
}

// defaultNodes says of nodes what they are made of, where the topology does.
func defaultNodes(dc *Datacenter, kind NodeKind) {
	for i := range dc.VMs {
		if dc.VMs[i].IsNode() {
			fill(&dc.VMs[i].Nodes, kind)
		}
	}
}

// Lighten has all nodes be light ones, whatever the topology said.
func (t *Topology) Lighten() {
	t.Spec.Nodes = NodesLight
	for ref := range t.AllVMs() {
		if ref.VM.IsNode() {
			ref.VM.Nodes = NodesLight
		}
	}
}

// fill sets what is still zero.
func fill[T comparable](into *T, value T) {
	var zero T
	if *into == zero {
		*into = value
	}
}
