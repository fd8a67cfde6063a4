package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// VMState is a VM as its vCenter reports it now, with all objects above it.
type VMState struct {
	VCenter, Ref, Name, Path string
	// Datacenter is the path of the one it lies in.
	Datacenter         string
	UUID, InstanceUUID string
	Template           bool
	// Power is on, off or suspended; Connection is connected, disconnected, inaccessible, invalid or orphaned.
	Power, Connection string
	// Tools: the guest's tools run.
	Tools     bool
	Hostname  string
	Addresses []string
	CPUs      int
	MemoryMB  int
	GuestID   string
	Disks     []api.Disk

	Host           string
	HostConnection string
	HostPower      string
	Maintenance    bool
	// FromHost, FromPool and FromVM are what is met on the way up from the host, from the resource pool and from the VM
	// itself, each with its beginning.
	FromHost, FromPool, FromVM []Object
	// TagsErr is why tags could not be read.
	TagsErr error

	// Role is its role in the cluster, "" for no node. Process is the state of its kubelet.
	Role, Process string
	// Stale is why the vCenter did not answer: the rest is as the sandbox's watch reported it last.
	Stale error
}

// Object is something on the way up.
type Object struct {
	Type, Name, Ref string
	Tags            []Tag
}

// Tag is a tag on an object.
type Tag struct{ Category, Name string }

// id names a VM past doubt.
func (m VMState) id() string { return m.VCenter + "/" + m.Name }

// source names the source of the data.
func (m VMState) source() string {
	if m.Stale != nil {
		return "last seen of vCenter " + m.VCenter
	}
	return "vCenter " + m.VCenter
}

// reports returns what its guest reports.
func (m VMState) reports() string {
	if !m.Tools && m.Hostname == "" && len(m.Addresses) == 0 {
		return "nothing: its tools do not run"
	}
	hostname := m.Hostname
	hostname = cmp.Or(hostname, "no hostname")
	addresses := strings.Join(m.Addresses, ", ")
	text := hostname + ", " + cmp.Or(addresses, "no address")
	if !m.Tools {
		text += "; its tools do not run"
	}
	return text
}

// certain reports whether what its vCenter says of it is so now, and not just the last that it knows.
func (m VMState) certain() bool {
	return m.Stale == nil && (m.Connection == "" || m.Connection == "connected")
}

// expected is the verdict on something that a guest reports: of a VM that is not on nothing is expected.
func (m VMState) expected(reported bool) string {
	switch {
	case !m.certain():
		return unknown
	case !reported && m.Power != "on":
		return neither
	}
	return verdictOf(reported)
}

// power says its power state in a sentence.
func (m VMState) power() string {
	switch m.Power {
	case "on":
		return "powered on"
	case "off":
		return "powered off"
	}
	return m.Power
}

// Facts implements [match.Candidate].
func (m VMState) Facts() match.VM {
	vm := match.VM{
		VCenter: m.VCenter, Ref: m.Ref, HostName: m.Hostname, Template: m.Template, Connected: m.Connection == "connected", On: m.Power == "on",
	}
	vm.UUID, _ = match.ParseUUID(m.UUID)
	vm.Addresses = match.ParseAddresses(m.Addresses)
	return vm
}

// String names it in messages.
func (m VMState) String() string { return m.id() }

// within reports whether it lies in one of the datacenters of a vCenter's configuration; none means all.
func (m VMState) within(datacenters []string) bool {
	place := absent.Place{Path: m.Datacenter, Name: m.Datacenter[strings.LastIndexByte(m.Datacenter, '/')+1:]}
	above := slices.Concat(m.FromVM, m.FromHost)
	if i := slices.IndexFunc(above, func(o Object) bool { return o.Type == "Datacenter" }); i >= 0 {
		place.Name, place.Ref = above[i].Name, above[i].Type+":"+above[i].Ref
	}
	return len(datacenters) == 0 || slices.ContainsFunc(absent.Split(datacenters, []absent.Place{place}), place.Is)
}
