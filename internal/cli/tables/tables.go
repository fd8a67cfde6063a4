package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// Components shows the supervised parts of a sandbox; now dates their state.
func Components(now time.Time) output.Kind[api.Component] {
	type column = output.Column[api.Component]
	return output.Kind[api.Component]{
		Name: "Component",
		Ref:  func(c api.Component) string { return "component/" + c.Name },
		Columns: []column{
			{Header: "COMPONENT", Value: func(c api.Component) string { return c.Name }},
			{Header: "STATE", Value: func(c api.Component) string { return c.State }},
			{Header: "SINCE", Value: func(c api.Component) string { return output.Age(now, c.Since) }},
			{Header: "RESTARTS", Value: func(c api.Component) string { return strconv.Itoa(c.Restarts) }},
			{Header: "PID", Value: pid},
			{Header: "LOG", Wide: true, Value: func(c api.Component) string { return c.Log }},
			{Header: "MESSAGE", Cut: true, Value: func(c api.Component) string { return c.Message }},
		},
	}
}

func pid(c api.Component) string {
	if c.PID == 0 {
		return ""
	}
	return strconv.Itoa(c.PID)
}

// Nodes shows nodes; now dates them.
func Nodes(now time.Time) output.Kind[api.Node] {
	type column = output.Column[api.Node]
	return output.Kind[api.Node]{
		Name: "Node",
		Ref:  func(n api.Node) string { return "node/" + n.Name },
		Columns: []column{
			{Header: "NAME", Value: func(n api.Node) string { return n.Name }},
			{Header: "VM", Wide: true, Value: func(n api.Node) string { return n.VM }},
			{Header: "VCENTER", Value: func(n api.Node) string { return n.VCenter }},
			{Header: "DATACENTER", Value: func(n api.Node) string { return n.Datacenter }},
			{Header: "POWER", Value: func(n api.Node) string { return n.Power }},
			{Header: "READY", Value: Ready},
			{Header: "TAINTS", Narrow: true, Value: taintKeys},
			{Header: "TAINTS", Wide: true, Value: taints},
			{Header: "REGION", Value: func(n api.Node) string { return n.Region }},
			{Header: "ZONE", Value: func(n api.Node) string { return n.Zone }},
			{Header: "PROVIDER-ID", Wide: true, Value: func(n api.Node) string { return n.ProviderID }},
			{Header: "ROLES", Wide: true, Value: func(n api.Node) string { return output.Join(n.Roles) }},
			{Header: "INSTANCE-TYPE", Wide: true, Value: func(n api.Node) string { return n.InstanceType }},
			{Header: "ADDRESSES", Wide: true, Value: func(n api.Node) string { return output.Join(n.Addresses) }},
			{Header: "VERSION", Wide: true, Value: func(n api.Node) string { return n.Version }},
			// Only in the wide table: a column that changes with time would make every watched row new.
			{Header: "AGE", Wide: true, Value: func(n api.Node) string { return output.Age(now, n.Created) }},
		},
	}
}

// Ready returns the status of the Ready condition, or that the node does not exist yet.
func Ready(n api.Node) string {
	if !n.Registered {
		return "Unregistered"
	}
	return n.Ready
}

// taintKeys are the keys of the taints without their effects: "shutdown,unreachable".
func taintKeys(n api.Node) string {
	var keys []string
	for key := range strings.SplitSeq(taints(n), ",") {
		if key = key[:max(0, strings.IndexAny(key+":", "=:"))]; key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return output.Join(keys)
}

// taints leaves out the domains of the well-known ones, which would fill the screen: "shutdown:NoSchedule".
func taints(n api.Node) string {
	short := make([]string, len(n.Taints))
	for i, t := range n.Taints {
		short[i] = t
		for _, domain := range []string{"node.cloudprovider.kubernetes.io/", "node.kubernetes.io/", "node-role.kubernetes.io/"} {
			short[i] = strings.TrimPrefix(short[i], domain)
		}
	}
	return output.Join(short)
}

// Zones shows failure domains.
func Zones() output.Kind[api.Zone] {
	type column = output.Column[api.Zone]
	key := func(z api.Zone) string { return z.Region + "/" + z.Zone }
	return output.Kind[api.Zone]{
		Name: "Zone",
		Ref:  func(z api.Zone) string { return "zone/" + z.Zone },
		Key:  key,
		Columns: []column{
			{Header: "REGION", Value: func(z api.Zone) string { return z.Region }},
			{Header: "ZONE", Value: func(z api.Zone) string { return z.Zone }},
			{Header: "DATACENTERS", Value: func(z api.Zone) string { return output.Join(z.Datacenters) }},
			{Header: "VMS", Value: func(z api.Zone) string { return strconv.Itoa(z.VMs) }},
			{Header: "NODES", Value: func(z api.Zone) string { return strconv.Itoa(z.Nodes) }},
			{Header: "READY", Value: func(z api.Zone) string { return strconv.Itoa(z.ReadyNodes) }},
		},
	}
}

// Leases shows injected faults; now dates them.
func Leases(now time.Time) output.Kind[api.Lease] {
	type column = output.Column[api.Lease]
	return output.Kind[api.Lease]{
		Name: "Lease",
		Ref:  func(l api.Lease) string { return "lease/" + l.ID },
		Columns: []column{
			{Header: "LEASE", Value: func(l api.Lease) string { return l.ID }},
			{Header: "FAULT", Value: func(l api.Lease) string { return l.Fault }},
			{Header: "STATE", Value: func(l api.Lease) string { return l.State }},
			{Header: "TARGETS", Narrow: true, Value: firstTargets},
			{Header: "TARGETS", Wide: true, Value: func(l api.Lease) string { return output.Join(targets(l)) }},
			{Header: "SINCE", Value: func(l api.Lease) string { return output.Age(now, l.Since) }},
			{Header: "HEALS-IN", Value: func(l api.Lease) string { return healsIn(now, l) }},
			{Header: "DOES", Wide: true, Value: leaseDoes},
			{Header: "PARAMETERS", Wide: true, Value: leaseParams},
			{Header: "ERROR", Wide: true, Value: leaseErrors},
		},
	}
}

// LeaseTarget names a target: us/worker-1.
func LeaseTarget(t api.LeaseTarget) string {
	if t.VCenter == "" || t.VCenter == t.Name {
		return t.Name
	}
	return t.VCenter + "/" + t.Name
}

// firstTargets leaves out what would fill the screen.
func firstTargets(l api.Lease) string {
	const many = 2
	if names := targets(l); len(names) > many {
		return output.Join(names[:many]) + ",…"
	}
	return output.Join(targets(l))
}

func targets(l api.Lease) []string {
	names := make([]string, len(l.Targets))
	for i, t := range l.Targets {
		names[i] = LeaseTarget(t)
	}
	return names
}

// healsIn is how long it lasts yet; a lease that is over, and one without an end, has none.
func healsIn(now time.Time, l api.Lease) string {
	if l.Until == nil || l.State == "healed" || l.Until.Before(now) {
		return ""
	}
	return output.Age(*l.Until, now)
}

func leaseDoes(l api.Lease) string {
	return distinct(l, func(t api.LeaseTarget) string { return t.Does })
}

func leaseErrors(l api.Lease) string {
	return distinct(l, func(t api.LeaseTarget) string { return t.Error })
}

// distinct joins what is said of the targets, each thing once.
func distinct(l api.Lease, of func(api.LeaseTarget) string) string {
	var all []string
	for _, t := range l.Targets {
		if s := of(t); s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return strings.Join(all, "; ")
}

func leaseParams(l api.Lease) string {
	var all []string
	for name, value := range l.Params {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return output.Join(all)
}

// Volumes shows volumes, from the claim to the disk of a VM.
func Volumes() output.Kind[api.Volume] {
	type column = output.Column[api.Volume]
	return output.Kind[api.Volume]{
		Name: "Volume",
		Ref:  func(v api.Volume) string { return "volume/" + v.Name },
		Columns: []column{
			{Header: "CLAIM", Narrow: true, Value: claimOrVolume},
			{Header: "CLAIM", Wide: true, Value: func(v api.Volume) string { return v.Claim }},
			{Header: "VOLUME", Wide: true, Value: VolumeName},
			{Header: "SIZE", Value: func(v api.Volume) string { return output.Bytes(v.CapacityBytes) }},
			{Header: "DATASTORE", Value: func(v api.Volume) string { return v.Datastore }},
			{Header: "NODE", Narrow: true, Value: nodeAndVM},
			{Header: "PODS", Narrow: true, Value: podsOfClaim},
			{Header: "VM", Wide: true, Value: func(v api.Volume) string { return v.VM }},
			{Header: "NODE", Wide: true, Value: func(v api.Volume) string { return v.Node }},
			{Header: "PODS", Wide: true, Value: func(v api.Volume) string { return output.Join(v.Pods) }},
			{Header: "STATE", Value: func(v api.Volume) string { return string(v.State) }},
			{Header: "HEALTH", Wide: true, Value: func(v api.Volume) string { return v.Health }},
			{Header: "CNS-ID", Wide: true, Value: func(v api.Volume) string { return v.Handle }},
			{Header: "VCENTER", Wide: true, Value: func(v api.Volume) string { return v.VCenter }},
			{Header: "CLASS", Wide: true, Value: func(v api.Volume) string { return v.StorageClass }},
			{Header: "PHASE", Wide: true, Value: func(v api.Volume) string { return v.Phase }},
			{Header: "WAITS FOR", Cut: true, Value: func(v api.Volume) string { return v.Waits }},
		},
	}
}

// claimOrVolume is the claim of a volume, or the beginning of its name or ID if it has none.
func claimOrVolume(v api.Volume) string {
	const most = len("default/data-web-0")
	return cmp.Or(v.Claim, text.Cut(cmp.Or(v.Name, v.Handle), most))
}

// nodeAndVM is the node of a volume, with the VM that has its disk if that is called otherwise, but for the domain.
func nodeAndVM(v api.Volume) string {
	switch {
	case v.VM == "" || v.VM == v.Node || strings.HasPrefix(v.Node, v.VM+"."):
		return v.Node
	case v.Node == "":
		return "VM " + v.VM
	}
	return v.Node + " (VM " + v.VM + ")"
}

// podsOfClaim are the pods of a volume without the namespace of its claim, which is theirs, too.
func podsOfClaim(v api.Volume) string {
	namespace, _, _ := strings.Cut(v.Claim, "/")
	var names []string
	for _, pod := range v.Pods {
		names = append(names, strings.TrimPrefix(pod, namespace+"/"))
	}
	return output.Join(names)
}

// VolumeName is the PersistentVolume's, "" for a claim that has none.
func VolumeName(v api.Volume) string {
	if v.Name == v.Claim {
		return ""
	}
	return v.Name
}

// Datastores shows datastores.
func Datastores() output.Kind[api.Datastore] {
	type column = output.Column[api.Datastore]
	return output.Kind[api.Datastore]{
		Name: "Datastore",
		Ref:  func(d api.Datastore) string { return "datastore/" + d.Name },
		Key:  func(d api.Datastore) string { return d.VCenter + d.Path },
		Columns: []column{
			{Header: "NAME", Value: func(d api.Datastore) string { return d.Name }},
			{Header: "VCENTER", Value: func(d api.Datastore) string { return d.VCenter }},
			{Header: "DATACENTER", Value: func(d api.Datastore) string { return d.Datacenter }},
			{Header: "TYPE", Value: func(d api.Datastore) string { return d.Type }},
			{Header: "ACCESSIBLE", Value: func(d api.Datastore) string { return output.YesNo(d.Accessible) }},
			{Header: "CAPACITY", Value: func(d api.Datastore) string { return output.Bytes(d.CapacityBytes) }},
			{Header: "FREE", Value: func(d api.Datastore) string { return output.Bytes(d.FreeBytes) }},
			{Header: "VOLUMES", Value: func(d api.Datastore) string { return strconv.Itoa(d.Volumes) }},
			{Header: "ZONES", Value: func(d api.Datastore) string { return output.Join(d.Zones) }},
			{Header: "HOSTS", Value: func(d api.Datastore) string { return strconv.Itoa(len(d.Hosts)) }},
			{Header: "MOUNTED-BY", Wide: true, Value: func(d api.Datastore) string { return output.Join(d.Hosts) }},
			{Header: "URL", Wide: true, Value: func(d api.Datastore) string { return d.URL }},
			{Header: "MAINTENANCE", Wide: true, Value: func(d api.Datastore) string { return d.Maintenance }},
		},
	}
}

// NSX shows objects of the NSX Manager.
func NSX() output.Kind[api.NSXObject] {
	type column = output.Column[api.NSXObject]
	return output.Kind[api.NSXObject]{
		Name: "NSXObject",
		Ref:  func(o api.NSXObject) string { return "nsx" + o.Path },
		Key:  func(o api.NSXObject) string { return o.Path },
		Columns: []column{
			{Header: "TYPE", Value: func(o api.NSXObject) string { return o.Type }},
			{Header: "NAME", Value: func(o api.NSXObject) string { return o.Name }},
			{Header: "SERVICE", Value: func(o api.NSXObject) string { return o.Service }},
			{Header: "ADDRESS", Value: func(o api.NSXObject) string { return o.Address }},
			{Header: "STATE", Value: func(o api.NSXObject) string { return o.State }},
			{Header: "REVISION", Wide: true, Value: func(o api.NSXObject) string { return strconv.FormatInt(o.Revision, 10) }},
			{Header: "PATH", Wide: true, Value: func(o api.NSXObject) string { return o.Path }},
			{Header: "USER", Wide: true, Value: func(o api.NSXObject) string { return o.User }},
			{Header: "ERROR", Wide: true, Value: func(o api.NSXObject) string { return o.Error }},
		},
	}
}

// VCenters shows vCenters.
func VCenters() output.Kind[api.VCenter] {
	type column = output.Column[api.VCenter]
	return output.Kind[api.VCenter]{
		Name: "VCenter",
		Ref:  func(v api.VCenter) string { return "vcenter/" + v.Name },
		Columns: []column{
			{Header: "NAME", Value: func(v api.VCenter) string { return v.Name }},
			{Header: "GATE", Value: Gate},
			{Header: "WATCHED", Value: func(v api.VCenter) string { return output.YesNo(v.Watched) }},
			{Header: "DATACENTERS", Wide: true, Value: func(v api.VCenter) string { return strconv.Itoa(v.Datacenters) }},
			{Header: "HOSTS", Value: func(v api.VCenter) string { return strconv.Itoa(v.Hosts) }},
			{Header: "VMS", Value: func(v api.VCenter) string { return strconv.Itoa(v.VMs) }},
			{Header: "CALLS", Value: func(v api.VCenter) string { return strconv.FormatUint(v.Calls, 10) }},
			{Header: "URL", Value: func(v api.VCenter) string { return v.URL }},
			{Header: "INVENTORY", Value: inventory},
			{Header: "CONTAINER-URL", Wide: true, Value: func(v api.VCenter) string { return v.ContainerURL }},
			{Header: "USER", Wide: true, Value: func(v api.VCenter) string { return v.User }},
			{Header: "VERSION", Wide: true, Value: func(v api.VCenter) string { return v.Version }},
			{Header: "INSTANCE-UUID", Wide: true, Value: func(v api.VCenter) string { return v.InstanceUUID }},
		},
	}
}

// inventory describes who owns a vCenter, and what may be done to its VMs.
func inventory(v api.VCenter) string {
	if v.Real == "" {
		return api.InventorySimulated
	}
	return api.InventoryReal + ", " + v.Real
}

// Gate returns the state of a vCenter's gate, with the delay of a slow one.
func Gate(v api.VCenter) string {
	if v.Delay > 0 {
		return fmt.Sprintf("%s (%s)", v.Gate, time.Duration(v.Delay))
	}
	return v.Gate
}

// Datacenters shows datacenters.
func Datacenters() output.Kind[api.Datacenter] {
	type column = output.Column[api.Datacenter]
	return output.Kind[api.Datacenter]{
		Name: "Datacenter",
		Ref:  func(d api.Datacenter) string { return "datacenter/" + d.Name },
		Key:  func(d api.Datacenter) string { return d.VCenter + d.Path },
		Columns: []column{
			{Header: "NAME", Value: func(d api.Datacenter) string { return d.Name }},
			{Header: "VCENTER", Value: func(d api.Datacenter) string { return d.VCenter }},
			{Header: "REGION", Value: func(d api.Datacenter) string { return d.Region }},
			{Header: "ZONE", Value: func(d api.Datacenter) string { return d.Zone }},
			{Header: "HOSTS", Value: func(d api.Datacenter) string { return strconv.Itoa(d.Hosts) }},
			{Header: "VMS", Value: func(d api.Datacenter) string { return strconv.Itoa(d.VMs) }},
			{Header: "NODES", Value: func(d api.Datacenter) string { return strconv.Itoa(d.Nodes) }},
			{Header: "PATH", Wide: true, Value: func(d api.Datacenter) string { return d.Path }},
		},
	}
}

// Hosts shows ESXi hosts.
func Hosts() output.Kind[api.Host] {
	type column = output.Column[api.Host]
	return output.Kind[api.Host]{
		Name: "Host",
		Ref:  func(h api.Host) string { return "host/" + h.Name },
		Key:  func(h api.Host) string { return h.VCenter + "/" + h.Datacenter + "/" + h.Name },
		Columns: []column{
			{Header: "NAME", Value: func(h api.Host) string { return h.Name }},
			{Header: "VCENTER", Value: func(h api.Host) string { return h.VCenter }},
			{Header: "DATACENTER", Value: func(h api.Host) string { return h.Datacenter }},
			{Header: "CLUSTER", Value: func(h api.Host) string { return h.Cluster }},
			{Header: "CONNECTION", Value: func(h api.Host) string { return h.Connection }},
			{Header: "POWER", Value: func(h api.Host) string { return h.Power }},
			{Header: "VMS", Value: func(h api.Host) string { return strconv.Itoa(h.VMs) }},
			{Header: "CPUS", Wide: true, Value: func(h api.Host) string { return strconv.Itoa(h.CPUs) }},
			{Header: "MEMORY", Wide: true, Value: func(h api.Host) string { return output.Bytes(h.MemoryBytes) }},
		},
	}
}

// firstAddress is the first address of a VM, and whether there are more.
func firstAddress(v api.VM) string {
	if len(v.Addresses) > 1 {
		return v.Addresses[0] + ",…"
	}
	return output.Join(v.Addresses)
}

// VMs shows virtual machines.
func VMs() output.Kind[api.VM] {
	type column = output.Column[api.VM]
	return output.Kind[api.VM]{
		Name: "VM",
		Ref:  func(v api.VM) string { return "vm/" + v.Name },
		Key:  func(v api.VM) string { return v.VCenter + v.Path },
		Columns: []column{
			{Header: "NAME", Value: func(v api.VM) string { return v.Name }},
			{Header: "VCENTER", Value: func(v api.VM) string { return v.VCenter }},
			{Header: "DATACENTER", Value: func(v api.VM) string { return v.Datacenter }},
			{Header: "HOST", Value: func(v api.VM) string { return v.Host }},
			{Header: "POWER", Value: func(v api.VM) string { return v.Power }},
			{Header: "TOOLS", Value: func(v api.VM) string { return output.YesNo(v.Tools) }},
			{Header: "PROCESS", Value: func(v api.VM) string { return v.Process }},
			{Header: "ROLE", Wide: true, Value: func(v api.VM) string { return v.Role }},
			{Header: "ADDRESSES", Narrow: true, Value: firstAddress},
			{Header: "ADDRESSES", Wide: true, Value: func(v api.VM) string { return output.Join(v.Addresses) }},
			{Header: "CLUSTER", Wide: true, Value: func(v api.VM) string { return v.Cluster }},
			{Header: "REGION", Wide: true, Value: func(v api.VM) string { return v.Region }},
			{Header: "ZONE", Wide: true, Value: func(v api.VM) string { return v.Zone }},
			{Header: "CPUS", Wide: true, Value: func(v api.VM) string { return strconv.Itoa(v.CPUs) }},
			{Header: "MEMORY", Wide: true, Value: func(v api.VM) string { return output.Bytes(v.MemoryBytes) }},
			{Header: "HOSTNAME", Wide: true, Value: func(v api.VM) string { return v.Hostname }},
			{Header: "MOREF", Wide: true, Value: func(v api.VM) string { return v.MoRef }},
			{Header: "UUID", Wide: true, Value: func(v api.VM) string { return v.UUID }},
		},
	}
}
