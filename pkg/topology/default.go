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

// What the datastores of a datacenter are that names none.
const (
	// zoneCapacity is that of a zone's own. It is twice that of the shared one, so that whoever looks for the most free
	// space, as vSphere does, finds a zone's own first.
	zoneCapacity = 2 * defaultCapacity
	// maxDefaultZones is from how many zones on there is none for each: hosts that are a zone each need not mount many.
	maxDefaultZones = 100
)

// defaultDatastores are one that all hosts mount, which comes first and has the disks of VMs, and one for each zone, where
// there is more than one. In a datacenter that is one zone, or in none, the first is all: it is the zone's own already.
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

// unused is the first of the names that a datastore can have and that none has yet. The last one is taken as it is.
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

// hostsByZone returns the zones of the datacenter's hosts in the order of the file, and the hosts of each, by name; those
// of no zone are the hosts of "".
func (t *Topology) hostsByZone(vcenter *VCenter, dc *Datacenter) (zones []string, hosts map[string][]string) {
	hosts = map[string][]string{}
	for cluster, host := range dc.AllHosts() {
		if host.Name == "" || cluster != nil && cluster.Name == "" {
			continue // reported elsewhere
		}
		zone := t.placeOf(vcenter, dc, cluster, host).Zone
		if zone != "" && hosts[zone] == nil {
			zones = append(zones, zone)
		}
		hosts[zone] = append(hosts[zone], host.Name)
	}
	return zones, hosts
}

// members says which hosts are meant in the fewest words: compute clusters that are among them as a whole, and the rest.
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

// UUID derives a stable UUID for an object of the topology from its seed: the same for the same seed, kind and path,
// and different otherwise. Kind tells apart the several UUIDs of one object ("bios", "instance"); path leads to the
// object from its vCenter's name down. The result is a name-based UUID (version 5 of RFC 9562) in lower case.
//
// Load fills in the UUIDs that the format has fields for; the function is exported for those it has not, such as a
// host's.
func (t *Topology) UUID(kind string, path ...string) string {
	sum := t.digest(kind, path...)
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	return formatUUID([16]byte(sum[:16]))
}

// digest is what every identity is cut from. SHA-1 because version 5 says so; nothing here is a secret.
func (t *Topology) digest(kind string, path ...string) [sha1.Size]byte {
	// No part of a path holds a NUL, so different paths never read the same.
	h := sha1.New()
	_, _ = io.WriteString(h, APIVersion+"\x00"+t.Spec.Seed+"\x00"+kind+"\x00"+strings.Join(path, "\x00"))
	return [sha1.Size]byte(h.Sum(nil))
}

// The range of MAC addresses that VMware leaves to its users, and of IPv4 addresses that never meet real ones
// (RFC 2544).
const (
	macPrefix    = "00:50:56"
	macs         = 0x40 << 16
	firstAddress = 198<<24 | 18<<16
	derivedBits  = 15
	addresses    = 1 << (32 - derivedBits)
)

// derivedMAC is the nth MAC address of the range.
func derivedMAC(n uint64) string {
	return fmt.Sprintf("%s:%02x:%02x:%02x", macPrefix, byte(n>>16), byte(n>>8), byte(n))
}

// derivedAddress is the nth IPv4 address of the range, and whether a machine should have it: those ending in 0, 1 and
// 255 look like networks, gateways and broadcasts to people and to programs that assume /24.
func derivedAddress(n uint64) (address netip.Addr, fit bool) {
	var raw [4]byte
	binary.BigEndian.PutUint32(raw[:], firstAddress+uint32(n))
	return netip.AddrFrom4(raw), raw[3] > 1 && raw[3] < 255
}

// derivedNumber is the number of an address in the range, if it is in it.
func derivedNumber(address netip.Addr) (n uint32, ok bool) {
	if !address.Is4() {
		return 0, false
	}
	raw := address.As4()
	n = binary.BigEndian.Uint32(raw[:]) - firstAddress
	return n, n < addresses
}

// probe walks a range of the given size from start until take accepts a number, and reports whether one did. Two names
// that fall on the same number are thus told apart, and always in the same way.
func probe(start, size uint64, take func(uint64) bool) bool {
	for i := range size {
		if take((start + i) % size) {
			return true
		}
	}
	return false
}
