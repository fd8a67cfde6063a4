package topology

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The defaults of a topology.
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

// setDefaults fills in the defaults that do not depend on other fields.
func setDefaults(t *Topology) {
	fill(&t.Spec.Seed, t.Metadata.Name)
	fill(&t.Spec.Categories.Region, defaultRegionCategory)
	fill(&t.Spec.Categories.Zone, defaultZoneCategory)
	for i := range t.Spec.TagCategories {
		fill(&t.Spec.TagCategories[i].Cardinality, CardinalitySingle)
	}
	defaultNSX(t.Spec.NSX)
	defaultSupervisor(t)
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

// defaultReactions fills in the details of enabled reactions.
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

// defaultNodes sets the kind of nodes without one.
func defaultNodes(dc *Datacenter, kind NodeKind) {
	for i := range dc.VMs {
		if dc.VMs[i].IsNode() {
			fill(&dc.VMs[i].Nodes, kind)
		}
		if c := dc.VMs[i].Clones; c != nil {
			fill(&c.Nodes, kind)
		}
	}
}

// UseLightNodes makes all nodes light, regardless of the topology.
func (t *Topology) UseLightNodes() {
	t.Spec.Nodes = NodesLight
	for ref := range t.AllVMs() {
		if ref.VM.Clones != nil {
			ref.VM.Clones.Nodes = NodesLight
		}
		if ref.VM.IsNode() {
			ref.VM.Nodes = NodesLight
		}
	}
}

// fill sets a zero value.
func fill[T comparable](into *T, value T) {
	var zero T
	if *into == zero {
		*into = value
	}
}

// The default datastores of a datacenter.
const (
	// zoneCapacity is the capacity of a zone's datastore: twice that of the shared one, so that a client that chooses by free
	// space, as vSphere does, chooses it first.
	zoneCapacity = 2 * defaultCapacity
	// maxDefaultZones is the largest number of zones with a default datastore each, for topologies with a zone for each host.
	maxDefaultZones = 100
)

// defaultDatastores returns a datastore for all hosts, the first one, which has the disks of VMs, and, with several zones, one
// for each zone. With one zone or none, the first one suffices.
func (t *Topology) defaultDatastores(vcenter *VCenter, dc *Datacenter) []Datastore {
	names := map[string]bool{}
	list := []Datastore{{Name: unused(names, dc.Name+"-ds", "datastore1")}}
	zones, hosts := t.hostsByZone(vcenter, dc)
	if len(hosts) < 2 || len(zones) > maxDefaultZones {
		return list
	}
	for i, zone := range zones {
		store := Datastore{Capacity: zoneCapacity}
		store.Name = unused(names, zone+"-ds", zone+"-zone-ds", "datastore"+strconv.Itoa(i+2))
		store.Clusters, store.Hosts = dc.members(hosts[zone])
		list = append(list, store)
	}
	return list
}

// unused returns the first valid name that is not in use, or else the last one.
func unused(taken map[string]bool, names ...string) string {
	for i, name := range names {
		complaint, _ := inventoryName(name)
		if i == len(names)-1 || complaint == "" && !taken[name] {
			taken[name] = true
			return name
		}
	}
	return ""
}

// hostsByZone returns the zones of the datacenter's hosts in the order of the file, and the names of the hosts of each; "" has
// those without a zone.
func (t *Topology) hostsByZone(vcenter *VCenter, dc *Datacenter) (zones []string, hosts map[string][]string) {
	hosts = map[string][]string{}
	for cluster, host := range dc.AllHosts() {
		if host.Name == "" || cluster != nil && cluster.Name == "" {
			continue // reported already
		}
		zone := t.placeOf(vcenter, dc, cluster, host).Zone
		if zone != "" && hosts[zone] == nil {
			zones = append(zones, zone)
		}
		hosts[zone] = append(hosts[zone], host.Name)
	}
	return zones, hosts
}

// members returns the shortest description of hosts: complete compute clusters, and the rest.
func (d *Datacenter) members(hosts []string) (clusters, rest []string) {
	among := make(map[string]bool, len(hosts))
	for _, name := range hosts {
		among[name] = true
	}
	for i := range d.Clusters {
		cluster := &d.Clusters[i]
		if len(cluster.Hosts) == 0 || slices.ContainsFunc(cluster.Hosts, func(h Host) bool { return !among[h.Name] }) {
			continue
		}
		clusters = append(clusters, cluster.Name)
		for _, h := range cluster.Hosts {
			delete(among, h.Name)
		}
	}
	for _, name := range hosts {
		if among[name] {
			rest = append(rest, name)
			delete(among, name)
		}
	}
	return clusters, rest
}

// UUID derives a stable UUID for an object of the topology from its seed: the same for the same seed, kind and path. Kind
// distinguishes the UUIDs of one object ("bios", "instance"); path is its place, from the vCenter's name down. The result is a
// name-based UUID (version 5 of RFC 9562) in lower case.
//
// Load sets the UUIDs that have fields; use UUID for others, such as those of hosts.
func (t *Topology) UUID(kind string, path ...string) string {
	sum := t.digest(kind, path...)
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	return formatUUID([16]byte(sum[:16]))
}

// digest is the source of all derived identities. Version 5 prescribes SHA-1; nothing here is secret.
func (t *Topology) digest(kind string, path ...string) [sha1.Size]byte {
	// No element of a path contains a NUL, so different paths have different inputs.
	h := sha1.New()
	_, _ = io.WriteString(h, APIVersion+"\x00"+t.Spec.Seed+"\x00"+kind+"\x00"+strings.Join(path, "\x00"))
	return [sha1.Size]byte(h.Sum(nil))
}

// VMware's range of manually assigned MAC addresses, and a range of IPv4 addresses that are not used on the internet (RFC 2544).
const (
	macPrefix    = "00:50:56"
	macs         = 0x40 << 16
	firstAddress = 198<<24 | 18<<16
	derivedBits  = 15
	addresses    = 1 << (32 - derivedBits)
)

// derivedMAC returns the nth MAC address of the range.
func derivedMAC(n uint64) string {
	return fmt.Sprintf("%s:%02x:%02x:%02x", macPrefix, byte(n>>16), byte(n>>8), byte(n))
}

// derivedAddress returns the nth IPv4 address of the range, and whether it is suitable: addresses ending in 0, 1 and 255 look
// like networks, gateways and broadcasts of a /24.
func derivedAddress(n uint64) (address netip.Addr, fit bool) {
	var raw [4]byte
	binary.BigEndian.PutUint32(raw[:], firstAddress+uint32(n))
	return netip.AddrFrom4(raw), raw[3] > 1 && raw[3] < 255
}

// derivedNumber returns the number of an address in the range.
func derivedNumber(address netip.Addr) (n uint32, ok bool) {
	if !address.Is4() {
		return 0, false
	}
	raw := address.As4()
	n = binary.BigEndian.Uint32(raw[:]) - firstAddress
	return n, n < addresses
}

// probe tries the numbers of a range from start until take accepts one, and reports whether one was accepted. It resolves
// collisions in a reproducible way.
func probe(start, size uint64, take func(uint64) bool) bool {
	for i := range size {
		if take((start + i) % size) {
			return true
		}
	}
	return false
}
