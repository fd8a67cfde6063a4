package tables

import (
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Nodes shows nodes; now dates them.
func Nodes(now time.Time) output.Kind[api.Node] {
	type column = output.Column[api.Node]
	return output.Kind[api.Node]{
		Name: "Node",
		Ref:  func(n api.Node) string { return "node/" + n.Name },
		Columns: []column{
			{Header: "NAME", Value: func(n api.Node) string { return n.Name }},
			{Header: "VM", Value: func(n api.Node) string { return n.VM }},
			{Header: "VCENTER", Value: func(n api.Node) string { return n.VCenter }},
			{Header: "DATACENTER", Value: func(n api.Node) string { return n.Datacenter }},
			{Header: "POWER", Value: func(n api.Node) string { return n.Power }},
			{Header: "READY", Value: Ready},
			{Header: "TAINTS", Value: taints},
			{Header: "REGION", Value: func(n api.Node) string { return n.Region }},
			{Header: "ZONE", Value: func(n api.Node) string { return n.Zone }},
			{Header: "PROVIDER-ID", Value: func(n api.Node) string { return n.ProviderID }},
			{Header: "ROLES", Wide: true, Value: func(n api.Node) string { return output.Join(n.Roles) }},
			{Header: "INSTANCE-TYPE", Wide: true, Value: func(n api.Node) string { return n.InstanceType }},
			{Header: "ADDRESSES", Wide: true, Value: func(n api.Node) string { return output.Join(n.Addresses) }},
			{Header: "VERSION", Wide: true, Value: func(n api.Node) string { return n.Version }},
			// Only here: a column that changes by itself would make every watched row new.
			{Header: "AGE", Wide: true, Value: func(n api.Node) string { return output.Age(now, n.Created) }},
		},
	}
}

// Ready tells the Ready condition, or that there is no such node yet.
func Ready(n api.Node) string {
	if !n.Registered {
		return "Unregistered"
	}
	return n.Ready
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
