package tables

import (
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Volumes shows volumes, from the claim to the disk of a VM.
func Volumes() output.Kind[api.Volume] {
	type column = output.Column[api.Volume]
	return output.Kind[api.Volume]{
		Name: "Volume",
		Ref:  func(v api.Volume) string { return "volume/" + v.Name },
		Columns: []column{
			{Header: "CLAIM", Value: func(v api.Volume) string { return v.Claim }},
			{Header: "VOLUME", Value: VolumeName},
			{Header: "SIZE", Value: func(v api.Volume) string { return output.Bytes(v.CapacityBytes) }},
			{Header: "DATASTORE", Value: func(v api.Volume) string { return v.Datastore }},
			{Header: "VM", Value: func(v api.Volume) string { return v.VM }},
			{Header: "NODE", Value: func(v api.Volume) string { return v.Node }},
			{Header: "PODS", Value: func(v api.Volume) string { return output.Join(v.Pods) }},
			{Header: "STATE", Value: func(v api.Volume) string { return string(v.State) }},
			{Header: "WAITS FOR", Value: func(v api.Volume) string { return v.Waits }},
			{Header: "CNS-ID", Wide: true, Value: func(v api.Volume) string { return v.Handle }},
			{Header: "VCENTER", Wide: true, Value: func(v api.Volume) string { return v.VCenter }},
			{Header: "CLASS", Wide: true, Value: func(v api.Volume) string { return v.StorageClass }},
			{Header: "PHASE", Wide: true, Value: func(v api.Volume) string { return v.Phase }},
		},
	}
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
