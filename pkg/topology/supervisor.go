package topology

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// Supervisor is a Supervisor of the vCenter: the cluster of the sandbox is then a guest cluster, whose VMs it owns. Nil: none.
type Supervisor struct {
	// Namespaces are its vSphere Namespaces. Default: one named "workloads".
	Namespaces []SupervisorNamespace `json:"namespaces,omitempty"`
	// GuestClusters has the cluster of the sandbox. Default: one named as the topology, in the first namespace.
	GuestClusters []GuestCluster `json:"guestClusters,omitempty"`
	// Network is the networking stack: vds for distributed switches, or vpc for a VPC of NSX, which has routes to pods. Default: vds.
	Network SupervisorNetwork `json:"network,omitempty"`
}

// SupervisorNetwork is the networking stack of a Supervisor.
type SupervisorNetwork string

const (
	// NetworkVDS is distributed switches. Nothing outside the guest cluster has routes to its pods.
	NetworkVDS SupervisorNetwork = "vds"
	// NetworkVPC is a VPC of NSX. It gives VMs ports of its subnets, and nodes networks for their pods, with routes to them.
	NetworkVPC SupervisorNetwork = "vpc"
)

func (SupervisorNetwork) choices() []string { return []string{string(NetworkVDS), string(NetworkVPC)} }

// SupervisorNamespace is a vSphere Namespace.
type SupervisorNamespace struct {
	Name string `json:"name"`
	// Zones are those that its VMs may be in. Default: all of the vCenter.
	Zones []string `json:"zones,omitempty"`
	// StoragePolicies are those of the vCenter that it may use. Default: all.
	StoragePolicies []string `json:"storagePolicies,omitempty"`
	// Classes are its VM classes. Default: best-effort-small, best-effort-medium and best-effort-large.
	Classes []string `json:"classes,omitempty"`
}

// GuestCluster is a Kubernetes cluster whose nodes are VMs of a [SupervisorNamespace].
type GuestCluster struct {
	Name string `json:"name"`
	// Namespace has its VMs. Default: the first.
	Namespace string `json:"namespace,omitempty"`
}

// defaultNamespace is the vSphere Namespace of a Supervisor without any.
const defaultNamespace = "workloads"

func defaultClasses() []string {
	return []string{"best-effort-small", "best-effort-medium", "best-effort-large"}
}

// maxGuestName limits the name of a guest cluster: a VirtualMachineService has it before 22 more characters.
const maxGuestName = 41

// defaultSupervisor fills in what does not depend on the inventory.
func defaultSupervisor(t *Topology) {
	s := t.Spec.Supervisor
	if s == nil {
		return
	}
	if len(s.Namespaces) == 0 {
		s.Namespaces = []SupervisorNamespace{{Name: defaultNamespace}}
	}
	if len(s.GuestClusters) == 0 {
		s.GuestClusters = []GuestCluster{{Name: t.Metadata.Name}}
	}
	fill(&s.Network, NetworkVDS)
	for i := range s.GuestClusters {
		fill(&s.GuestClusters[i].Namespace, s.Namespaces[0].Name)
	}
	for i := range s.Namespaces {
		if len(s.Namespaces[i].Classes) == 0 {
			s.Namespaces[i].Classes = defaultClasses()
		}
	}
}

// checkSupervisor checks an optional Supervisor, and fills in zones and storage policies. All VMs have their hosts.
func checkSupervisor(p *problems, t *Topology) {
	s, at := t.Spec.Supervisor, (*path)(nil).key("spec").key("supervisor")
	if s == nil {
		return
	}
	if len(t.Spec.VCenters) > 1 {
		p.field(at, "", "needs a topology with one vCenter, which a Supervisor is part of: this one has %d", len(t.Spec.VCenters))
		return
	}
	zones, policies := t.zones(), t.policyNames()
	if len(zones) == 0 {
		p.field(at, "", "needs zones: no datacenter, compute cluster or host has zone")
		return
	}
	names := map[string]bool{}
	var known []string
	for i := range s.Namespaces {
		n, at := &s.Namespaces[i], at.key("namespaces").item(i)
		checkName(p, at.key("name"), n.Name, dnsLabel)
		if names[n.Name] {
			p.field(at.key("name"), "", "occurs twice: %s", strict.Shown(n.Name))
		}
		if strings.HasPrefix(n.Name, "kube-") || n.Name == "default" {
			p.field(at.key("name"), "", "must not be one of Kubernetes' own: %s", strict.Shown(n.Name))
		}
		names[n.Name] = true
		known = append(known, n.Name)
		checkAmong(p, at.key("zones"), n.Zones, zones, "zone")
		checkAmong(p, at.key("storagePolicies"), n.StoragePolicies, policies, "storage policy of the vCenter")
		for j, class := range n.Classes {
			checkName(p, at.key("classes").item(j), class, dnsLabel)
		}
		if len(n.Zones) == 0 {
			n.Zones = zones
		}
		if len(n.StoragePolicies) == 0 {
			n.StoragePolicies = policies
		}
	}
	if len(s.GuestClusters) > 1 {
		p.field(at.key("guestClusters"), "", "has %d: a sandbox has one cluster", len(s.GuestClusters))
	}
	for i, g := range s.GuestClusters {
		at := at.key("guestClusters").item(i)
		checkName(p, at.key("name"), g.Name, dnsLabel)
		if len(g.Name) > maxGuestName {
			p.field(at.key("name"), "", "has more than %d characters: %s", maxGuestName, strict.Shown(g.Name))
		}
		checkAmong(p, at.key("namespace"), []string{g.Namespace}, known, "namespace of the Supervisor")
	}
}

// checkAmong reports names that are not known. at is the list's, or that of the only name.
func checkAmong(p *problems, at *path, names, known []string, noun string) {
	for i, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		item := at
		if _, found := locate(p.root, at.item(i)); found {
			item = at.item(i)
		}
		p.field(item, nearest.Of(name, known), "is no %s: %s", noun, strict.Shown(name))
	}
}

// zones lists the zones that hosts are in.
func (t *Topology) zones() (all []string) {
	for _, z := range t.HostZones() {
		if !slices.Contains(all, z.Name) {
			all = append(all, z.Name)
		}
	}
	return all
}

func (t *Topology) policyNames() (all []string) {
	for i := range t.Spec.VCenters {
		for _, policy := range t.Spec.VCenters[i].Policies {
			all = append(all, policy.Name)
		}
	}
	return all
}

// HostZone is a zone in a datacenter.
type HostZone struct {
	Name, Datacenter string
	// Clusters are the compute clusters that have hosts in it, Hosts its hosts.
	Clusters, Hosts []string
}

// HostZones lists the zones that hosts are in.
func (t *Topology) HostZones() (all []HostZone) {
	for i := range t.Spec.VCenters {
		vcenter := &t.Spec.VCenters[i]
		for j := range vcenter.Datacenters {
			dc := &vcenter.Datacenters[j]
			names, hosts := t.hostsByZone(vcenter, dc)
			for _, name := range names {
				z := HostZone{Name: name, Datacenter: dc.Name, Hosts: hosts[name]}
				for cluster, host := range dc.AllHosts() {
					if cluster != nil && slices.Contains(z.Hosts, host.Name) && !slices.Contains(z.Clusters, cluster.Name) {
						z.Clusters = append(z.Clusters, cluster.Name)
					}
				}
				all = append(all, z)
			}
		}
	}
	return all
}
