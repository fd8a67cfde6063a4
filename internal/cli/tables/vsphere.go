package tables

import (
	"fmt"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

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
			{Header: "DATACENTERS", Value: func(v api.VCenter) string { return strconv.Itoa(v.Datacenters) }},
			{Header: "HOSTS", Value: func(v api.VCenter) string { return strconv.Itoa(v.Hosts) }},
			{Header: "VMS", Value: func(v api.VCenter) string { return strconv.Itoa(v.VMs) }},
			{Header: "CALLS", Value: func(v api.VCenter) string { return strconv.FormatUint(v.Calls, 10) }},
			{Header: "URL", Value: func(v api.VCenter) string { return v.URL }},
			{Header: "INVENTORY", Value: inventory},
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
			{Header: "ROLE", Value: func(v api.VM) string { return v.Role }},
			{Header: "ADDRESSES", Value: func(v api.VM) string { return output.Join(v.Addresses) }},
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
