package get

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/follow"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubeconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdGet returns the group of commands.
func NewCmdGet(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "get",
		Short: "List nodes, VMs, vCenters and other resources; print the kubeconfig",
		Long: `List resources of a sandbox, or print its kubeconfig.

Lists are in the order of the topology. Names after the kind filter the list; an
unknown name is an error.`,
		Example: `  vsphere-sandbox get nodes
  vsphere-sandbox get vms worker-west-1 worker-east-1 -o wide
  vsphere-sandbox get zones -o json
  vsphere-sandbox get volumes
  vsphere-sandbox get nodes --watch`,
	},
		NewCmdVCenters(d, nil), NewCmdDatacenters(d, nil), NewCmdHosts(d, nil), NewCmdVMs(d, nil),
		NewCmdNodes(d, nil), NewCmdZones(d, nil), NewCmdDatastores(d, nil), NewCmdVolumes(d, nil), NewCmdNSX(d, nil),
		NewCmdVirtualMachines(d, nil), NewCmdVirtualMachineServices(d, nil), NewCmdKubeconfig(d, nil),
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
		columns: "API state, whether the sandbox's watch is current, number of\nobjects and calls, and whether they are simulated or real",
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
		columns: "vCenter, region, zone, and number of objects.\nNAME is a name, VCENTER/NAME or an inventory path",
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
		columns: "location, connection and power state.\nNAME is a name or VCENTER/NAME",
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
		columns: "location, power state, guest tools and addresses, and the state of\nthe kubelet process.\nNAME is a name, hostname, VCENTER/NAME or an inventory path",
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
		columns: "each with its VM. A VM that should be a node and is not one yet is\nUnregistered. Well-known taints are shown without their domain; -o json has them\nin full. NAME is the name of the node or of its VM",
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
		columns: "failure domains, each a region and a zone, with their contents.\nNAME is ZONE or REGION/ZONE",
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
		columns: "location, contents, and which zones can use them.\nNAME is a name, VCENTER/NAME, an inventory path or a URL",
	}, "datastores", []string{"datastore", "ds"}, complete.Datastores(d), runF)
}

// NewCmdVolumes returns the command; runF, when not nil, runs in its place.
func NewCmdVolumes(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Volume]{
		kind: func(time.Time) output.Kind[api.Volume] { return tables.Volumes() },
		list: (*api.Client).Volumes,
		names: func(v api.Volume) []string {
			_, claim, _ := strings.Cut(v.Claim, "/")
			return []string{v.Name, v.Claim, claim, v.Handle, v.CNSName}
		},
		one: "volume", many: "volumes",
		columns: "claim, PersistentVolume, datastore, VM, node and pods,\nstate, and what the volume waits for. NAME is a claim, a PersistentVolume or an\nID in CNS",
	}, "volumes", []string{"volume", "pv", "pvc"}, complete.Volumes(d), runF)
}

// NewCmdNSX returns the command; runF, when not nil, runs in its place.
func NewCmdNSX(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.NSXObject]{
		kind: func(time.Time) output.Kind[api.NSXObject] { return tables.NSX() },
		list: (*api.Client).NSX,
		names: func(o api.NSXObject) []string {
			return []string{o.Path, o.Service, o.Type}
		},
		one: "NSX object", many: "NSX objects",
		none:    "NSX objects: the topology has no NSX Manager\ntry: add \"nsx: {}\" to its spec, and vsphere-sandbox up FILE --loadbalancer nsx",
		columns: "gateways, IP pools, load balancers, virtual servers and others\nof the NSX Manager, with the Service that each belongs to. -o json has them as\nthe Policy API does. NAME is a path, a type, or NAMESPACE/NAME of a Service",
	}, "nsx", []string{"nsxobjects"}, complete.NSX(d), runF)
}

// NewCmdVirtualMachines returns the command; runF, when not nil, runs in its place.
func NewCmdVirtualMachines(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.VirtualMachine]{
		kind: tables.VirtualMachines,
		list: (*api.Client).VirtualMachines,
		names: func(m api.VirtualMachine) []string {
			return []string{m.Name, m.Namespace + "/" + m.Name, m.Node, m.VCenter + "/" + m.VM}
		},
		one: "VirtualMachine", many: "VirtualMachines",
		none:    "VirtualMachines: the topology has no Supervisor\ntry: vsphere-sandbox up supervisor",
		columns: "those of the Supervisor, each with the VM that it is\nin vSphere, the node that it is in the guest cluster, and the conditions that\nare not true. NAME is a name, NAMESPACE/NAME, a node or VCENTER/VM",
	}, "virtualmachines", []string{"virtualmachine"}, complete.VirtualMachines(d), runF)
}

// NewCmdVirtualMachineServices returns the command; runF, when not nil, runs in its place.
func NewCmdVirtualMachineServices(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.VirtualMachineService]{
		kind: tables.VirtualMachineServices,
		list: (*api.Client).VirtualMachineServices,
		names: func(v api.VirtualMachineService) []string {
			return []string{v.Name, v.Namespace + "/" + v.Name, v.Service}
		},
		one: "VirtualMachineService", many: "VirtualMachineServices",
		none:    "VirtualMachineServices: no Service of type LoadBalancer has one, or the topology has no Supervisor\ntry: vsphere-sandbox up supervisor",
		columns: "the load balancers of the Supervisor, each with\nthe Service of the guest cluster, its ingress addresses and what it forwards to,\nand why it has no address. NAME is a name, NAMESPACE/NAME, or NAMESPACE/NAME of\nthe Service",
	}, "virtualmachineservices", []string{"virtualmachineservice"}, complete.VirtualMachineServices(d), runF)
}

// resource is a kind of thing that can be listed.
type resource[T any] struct {
	kind    func(now time.Time) output.Kind[T]
	list    func(*api.Client, context.Context) ([]T, error)
	names   func(T) []string // what an item goes by on the command line
	one     string           // "vCenter"
	many    string           // "vCenters"
	none    string           // after "no", and what to do about it; many by default
	use     string           // what the command is called
	columns string           // what the table shows, for the help text
}

type options struct {
	streams *iostreams.Streams
	now     func() time.Time
	connect func(context.Context) (*command.Target, error)

	names []string
	flags output.Flags
	watch bool
}

// newCmd returns the command that lists r; use and aliases are its names.
func newCmd[T any](d *command.Deps, r resource[T], use string, aliases []string, words complete.Func, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, now: d.Now, connect: d.Connect}
	r.use = use
	cmd := &cobra.Command{
		Use:               use + " [NAME]...",
		Aliases:           aliases,
		Short:             "List " + r.many,
		Long:              fmt.Sprintf("List %s: %s.", r.many, r.columns),
		Example:           fmt.Sprintf("  vsphere-sandbox get %s\n  vsphere-sandbox get %s -o json", use, aliases[0]),
		ValidArgsFunction: words,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			return run(cmd.Context(), o, r)
		},
	}
	o.flags.Bind(cmd)
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "keep running, and print each item again when it changes")
	return cmd
}

func run[T any](ctx context.Context, o *options, r resource[T]) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	items, err := pick(ctx, o, r, t)
	if err != nil {
		return err
	}
	kind := r.kind(o.now())
	if !o.watch {
		if len(items) == 0 {
			fmt.Fprintf(o.streams.Err, "no %s\n", cmp.Or(r.none, r.many))
		}
		return output.List(o.streams.Out, o.flags, kind, items)
	}
	w := output.NewWatch(o.streams.Out, o.flags, kind)
	if err := w.Show(items); err != nil {
		return err
	}
	return follow.Each(ctx, t, func() (bool, error) {
		// Without a filter on the server's side: one that is destroyed must not end the watch of the others.
		items, err := command.Ask(ctx, t, r.list)
		if err != nil {
			return false, err
		}
		return false, w.Show(named(items, o.names, r))
	})
}

func pick[T any](ctx context.Context, o *options, r resource[T], t *command.Target) ([]T, error) {
	items, err := command.Ask(ctx, t, r.list)
	if err != nil {
		return nil, err
	}
	picked, err := command.Pick(r.one, items, o.names, r.names)
	if e, ok := errors.AsType[*report.Error](err); ok {
		e.Try = command.Program + " get " + r.use
	}
	return picked, err
}

// named returns the items that the names stand for; unlike [command.Pick] it lets names stand for nothing.
func named[T any](items []T, names []string, r resource[T]) []T {
	var all []T
	for _, name := range names {
		if some, err := command.Pick(r.one, items, []string{name}, r.names); err == nil {
			all = append(all, some...)
		}
	}
	if len(names) == 0 {
		return items
	}
	return all
}

type kubeconfigOptions struct {
	streams *iostreams.Streams
	getenv  func(string) string
	status  func(context.Context) (api.Status, error)
	// name is the name of a sandbox that need not exist any more.
	name func(context.Context) (string, error)

	merge, unmerge bool
}

// NewCmdKubeconfig returns the command; runF, when not nil, runs in its place.
func NewCmdKubeconfig(d *command.Deps, runF func(context.Context, *kubeconfigOptions) error) *cobra.Command {
	o := &kubeconfigOptions{
		streams: d.Streams, getenv: d.Getenv,
		status: func(ctx context.Context) (api.Status, error) { return command.AskIt(ctx, d, (*api.Client).Status) },
		name: func(ctx context.Context) (string, error) {
			if name, asked := d.Name(); asked {
				return name, nil
			}
			s, err := d.Find(ctx)
			if report.Of(err).Code == "no-sandbox" {
				return command.DefaultName, nil
			}
			return s.Name, err
		},
	}
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the admin kubeconfig, or merge it into yours",
		Long: `Print the admin kubeconfig of a sandbox.

--merge    adds it to the file that kubectl uses (the first of $KUBECONFIG, else
           ~/.kube/config) and makes vsphere-sandbox-NAME the current context
--unmerge  removes it again, also after the sandbox is gone`,
		Example: `  vsphere-sandbox get kubeconfig > sandbox.kubeconfig
  vsphere-sandbox get kubeconfig --merge && kubectl get nodes
  vsphere-sandbox get kubeconfig --unmerge`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.merge && o.unmerge {
				return report.UsageError(command.Program+" get kubeconfig --merge", "--merge and --unmerge exclude each other")
			}
			return command.Or(runF, runKubeconfig)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.merge, "merge", false, "merge it into your kubeconfig and make it current")
	cmd.Flags().BoolVar(&o.unmerge, "unmerge", false, "remove it from your kubeconfig")
	return cmd
}

func runKubeconfig(ctx context.Context, o *kubeconfigOptions) error {
	if o.unmerge {
		return unmerge(ctx, o)
	}
	s, err := o.status(ctx)
	if err != nil {
		return err
	}
	if err := kubeconfig.Check(s); err != nil {
		return err
	}
	text, err := os.ReadFile(s.Kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if !o.merge {
		_, err := o.streams.Out.Write(text)
		return err
	}
	path, err := kubeconfig.Path(o.getenv)
	if err != nil {
		return err
	}
	if err := kubeconfig.Merge(ctx, path, text); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Err, "context %s is in %s, and current\n", s.Context, path)
	return nil
}

func unmerge(ctx context.Context, o *kubeconfigOptions) error {
	name, err := o.name(ctx)
	if err != nil {
		return err
	}
	path, err := kubeconfig.Path(o.getenv)
	if err != nil {
		return err
	}
	found, err := kubeconfig.Unmerge(ctx, path, kubeconfig.Context(name))
	if err != nil {
		return err
	}
	if found {
		fmt.Fprintf(o.streams.Err, "context %s is out of %s\n", kubeconfig.Context(name), path)
	} else {
		fmt.Fprintf(o.streams.Err, "context %s is not in %s\n", kubeconfig.Context(name), path)
	}
	return nil
}
