package get

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdGet returns the group of commands.
func NewCmdGet(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "get",
		Short: "List vCenters, datacenters, hosts, VMs, nodes, zones, datastores or volumes; print the kubeconfig",
		Long: `List what is in a sandbox, or print its kubeconfig.

Lists are in the order of the topology. Names after the kind choose what is
listed; a name that is not there is an error.`,
		Example: `  vsphere-sandbox get nodes
  vsphere-sandbox get vms worker-west-1 worker-east-1 -o wide
  vsphere-sandbox get zones -o json
  vsphere-sandbox get volumes
  vsphere-sandbox get nodes --watch`,
	},
		NewCmdVCenters(d, nil), NewCmdDatacenters(d, nil), NewCmdHosts(d, nil), NewCmdVMs(d, nil),
		NewCmdNodes(d, nil), NewCmdZones(d, nil), NewCmdDatastores(d, nil), NewCmdVolumes(d, nil), NewCmdKubeconfig(d, nil),
	)
}

// NewCmdVCenters returns the command; runF, when not nil, runs in its place.
func NewCmdVCenters(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.VCenter]{
		kind: func(time.Time) output.Kind[api.VCenter] { return tables.VCenters() },
		list: (*api.Client).VCenters,
		names: func(v api.VCenter) []string {
			return []string{v.Name}
		},
		one: "vCenter", many: "vCenters",
		columns: "what clients get of them, whether the sandbox's own view is\ncurrent, what they hold, how many calls they were asked, and whether they are\nsimulated or real",
	}, "vcenters", []string{"vcenter", "vc"}, complete.VCenters(d), runF)
}

// NewCmdDatacenters returns the command; runF, when not nil, runs in its place.
func NewCmdDatacenters(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Datacenter]{
		kind: func(time.Time) output.Kind[api.Datacenter] { return tables.Datacenters() },
		list: (*api.Client).Datacenters,
		names: func(dc api.Datacenter) []string {
			return []string{dc.Name, dc.VCenter + "/" + dc.Name, dc.Path}
		},
		one: "datacenter", many: "datacenters",
		columns: "their vCenter, region and zone, and what they hold.\nName one as NAME, VCENTER/NAME or by its inventory path",
	}, "datacenters", []string{"datacenter", "dc"}, complete.Datacenters(d), runF)
}

// NewCmdHosts returns the command; runF, when not nil, runs in its place.
func NewCmdHosts(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Host]{
		kind: func(time.Time) output.Kind[api.Host] { return tables.Hosts() },
		list: (*api.Client).Hosts,
		names: func(h api.Host) []string {
			return []string{h.Name, h.VCenter + "/" + h.Name}
		},
		one: "host", many: "hosts",
		columns: "where they are, their connection and power state.\nName one as NAME or VCENTER/NAME",
	}, "hosts", []string{"host"}, complete.Hosts(d), runF)
}

// NewCmdVMs returns the command; runF, when not nil, runs in its place.
func NewCmdVMs(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.VM]{
		kind: func(time.Time) output.Kind[api.VM] { return tables.VMs() },
		list: (*api.Client).VMs,
		names: func(v api.VM) []string {
			return []string{v.Name, v.Hostname, v.VCenter + "/" + v.Name, v.Path}
		},
		one: "VM", many: "VMs",
		columns: "where they are, power state, guest tools and addresses, and the\nstate of the kubelet process that stands for the guest. Name one as NAME,\nHOSTNAME, VCENTER/NAME or by its inventory path",
	}, "vms", []string{"vm"}, complete.VMs(d), runF)
}

// NewCmdNodes returns the command; runF, when not nil, runs in its place.
func NewCmdNodes(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Node]{
		kind: tables.Nodes,
		list: (*api.Client).Nodes,
		names: func(n api.Node) []string {
			return []string{n.Name, n.VM}
		},
		one: "node", many: "nodes",
		columns: "each joined with its VM. A VM that should be a node and is none\nyet is Unregistered. Well-known taints are shown without their domain; -o json\nhas them whole. Name one by its own name or its VM's",
	}, "nodes", []string{"node", "no"}, complete.Nodes(d), runF)
}

// NewCmdZones returns the command; runF, when not nil, runs in its place.
func NewCmdZones(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Zone]{
		kind: func(time.Time) output.Kind[api.Zone] { return tables.Zones() },
		list: (*api.Client).Zones,
		names: func(z api.Zone) []string {
			return []string{z.Zone, z.Region + "/" + z.Zone}
		},
		one: "zone", many: "zones",
		columns: "the failure domains, each a region and zone with what is in it.\nName one as ZONE or REGION/ZONE",
	}, "zones", []string{"zone"}, complete.Zones(d), runF)
}

// NewCmdDatastores returns the command; runF, when not nil, runs in its place.
func NewCmdDatastores(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Datastore]{
		kind: func(time.Time) output.Kind[api.Datastore] { return tables.Datastores() },
		list: (*api.Client).Datastores,
		names: func(ds api.Datastore) []string {
			return []string{ds.Name, ds.VCenter + "/" + ds.Name, ds.Path, ds.URL}
		},
		one: "datastore", many: "datastores",
		columns: "where they are, what they hold, and which zones reach\nthem. Name one as NAME, VCENTER/NAME, by its inventory path or its URL",
	}, "datastores", []string{"datastore", "ds"}, complete.Datastores(d), runF)
}

// NewCmdVolumes returns the command; runF, when not nil, runs in its place.
func NewCmdVolumes(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Volume]{
		kind: func(time.Time) output.Kind[api.Volume] { return tables.Volumes() },
		list: (*api.Client).Volumes,
		names: func(v api.Volume) []string {
			_, claim, _ := strings.Cut(v.Claim, "/")
			return []string{v.Name, v.Claim, claim, v.Handle}
		},
		one: "volume", many: "volumes",
		columns: "claim, PersistentVolume, datastore, VM, node and pods,\nthe state, and what it waits for. Name one by its claim, its PersistentVolume or\nits id in CNS",
	}, "volumes", []string{"volume", "pv", "pvc"}, complete.Volumes(d), runF)
}
