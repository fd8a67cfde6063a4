// Package up is the command that boots a sandbox.
package up

import (
	"cmp"
	"context"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubernetes"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/limits"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tui"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

type options struct {
	*command.Deps

	source     string // scenario or file
	set        source.Settings
	name       string
	topology   *topology.Topology
	speed      float64
	port       int
	detach     bool
	detached   bool // this process is the one that was detached
	dryRun     bool
	retain     bool
	audit      bool
	trace      string // a path; absolute
	balancer   string
	light      bool
	format     string
	ccm        ccm.Flags
	csi        csi.Flags
	kubernetes kubernetes.Flags
	ground     ground.Flags
	limits     limits.Flags
	real       *real.Options // nil for simulated vCenters
	alone      *VCenters     // nil for a whole sandbox

	realFlags vcenterconfig.Flags
	from      string // a snapshot, as the user names it; its directory once it was read
	resume    bool   // at the ports of the snapshot: this is "start"
	snapshot  *snapshot.Manifest
	settings  map[string][]string // the flags that were set

	tui  bool
	look tui.DisplayFlags
}

// NewCmdUp returns the command; runF, when not nil, runs in its place.
func NewCmdUp(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{Deps: d, format: output.Plain, ccm: ccm.Flags{MayBeNone: true}}
	cmd := &cobra.Command{
		Use:   "up [TOPOLOGY | FILE]",
		Short: "Start a sandbox: vCenters, and a Kubernetes cluster on their VMs",
		Long: `Start a sandbox: simulated vCenters and a Kubernetes cluster whose nodes are
their VMs. It runs until Ctrl-C or, with --detach, until "vsphere-sandbox down".
The default ground needs no root, Docker or network; it listens on loopback, and
removes everything when it stops.

The argument is a topology file or a built-in topology: single,
zones-per-cluster, zones-stretched or zones-us-eu (the default).

Other grounds: --cluster kind, --cluster existing, --vcenter-config for real
vCenters. Changes to real VMs need --allow-writes.

Exit status:
  0    stopped in order
  1    failed to boot
  2    wrong topology or flag
  4    this machine lacks a prerequisite (port, open files, processes, inotify
       instances, memory, disk space); nothing was created
  130  interrupted while booting`,
		Example: `  vsphere-sandbox up
  vsphere-sandbox up --tui
  vsphere-sandbox up zones-per-cluster --detach
  vsphere-sandbox up my-topology.yaml --name mine --speed 1
  vsphere-sandbox up my-topology.yaml --set workers=5
  vsphere-sandbox up zones-us-eu --ccm module:v1.36.0
  vsphere-sandbox up --ccm none
  vsphere-sandbox up --csi off
  vsphere-sandbox up --kubernetes v1.35
  vsphere-sandbox up --name copy --from lab/before-upgrade
  vsphere-sandbox up --vcenter-port 0
  vsphere-sandbox up my-topology.yaml --light
  vsphere-sandbox up --cluster kind
  vsphere-sandbox up single --cluster kind --csi module:v3.7.0
  vsphere-sandbox up --cluster existing --context lab --image registry.example.net/vsphere-sandbox:v0.1.0
  vsphere-sandbox up --vcenter-config vsphere.conf --folder k8s
  vsphere-sandbox up --cluster existing --context prod --vcenter-config vsphere.conf --folder k8s
  vsphere-sandbox up --ccm-watch bin/my-ccm --ccm-arg=--v=4
  vsphere-sandbox up single --dry-run -o yaml`,
		Args:              command.AtMostOne,
		ValidArgsFunction: source.Names(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.source = source.ArgOrDefault(args)
			if err := o.openFrom(cmd, args); err != nil {
				return err
			}
			o.settings = settings(cmd.Flags())
			if err := o.realFlags.CheckUnset(cmd); err != nil {
				return err
			}
			if err := o.combine(cmd.Flags().Changed, strings.Join(args, "")); err != nil {
				return err
			}
			if err := o.complete(); err != nil {
				return err
			}
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			return run(cmd.Context(), o)
		},
	}
	o.set.Bind(cmd)
	o.ccm.Bind(cmd)
	o.csi.Bind(cmd, csi.Builtin)
	o.kubernetes.Bind(cmd)
	o.ground.Bind(cmd)
	o.ground.BindOutside(cmd)
	o.limits.Bind(cmd)
	o.limits.BindPort(cmd)
	o.realFlags.Bind(cmd)
	o.realFlags.BindNodes(cmd)
	o.realFlags.BindWrites(cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.detach, "detach", "d", false, "return when the sandbox is ready, and keep it running")
	f.Float64Var(&o.speed, "speed", float64(pace.Default), "how many times faster than the upstream defaults leases and timeouts run; 1 is real time")
	f.IntVar(&o.port, "api-port", 0, "port of the API server on 127.0.0.1 (0: any free port)")
	f.BoolVar(&o.light, "light", false, "use light nodes (no kubelet, no volumes), like \"nodes: light\" in a topology; on kind, all but the control plane")
	f.BoolVar(&o.audit, "audit", false, "write an API server audit log; \"logs audit\" prints it")
	f.StringVar(&o.trace, "trace", "", "keep every API call to the vCenters, without secrets, in `FILE`; \"calls dump\" prints it")
	_ = cmd.MarkFlagFilename("trace") // its only error is an unknown flag
	f.StringVar(&o.balancer, "loadbalancer", sandbox.LoadBalancerSimple, "what serves Services of type LoadBalancer: simple (loopback addresses of this machine), nsx (the cloud controller manager, with the NSX Manager of the topology) or none")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be built, and exit")
	f.BoolVar(&o.retain, "retain", false, "on kind, keep the nodes of a sandbox that failed to boot; logs are always kept until \"down\" or the next \"up\"")
	f.BoolVar(&o.tui, "tui", false, "open the terminal UI; when you quit, it asks whether to stop the sandbox")
	o.look.Bind(cmd)
	f.StringVar(&o.from, "from", "", "boot from a snapshot: `SNAPSHOT` of the sandbox, SANDBOX/SNAPSHOT, or the folder of one")
	f.BoolVar(&o.detached, "detached", false, "")
	f.BoolVar(&o.resume, "resume", false, "")
	_ = cmd.RegisterFlagCompletionFunc("loadbalancer", cobra.FixedCompletions(balancers(), cobra.ShellCompDirectiveNoFileComp)) // its only error is an unknown flag
	for _, hidden := range []string{"detached", "resume"} {
		_ = f.MarkHidden(hidden) // its only error is an unknown flag
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

// complete checks what can be checked before anything is touched.
func (o *options) complete() error {
	if err := o.completeName(); err != nil {
		return err
	}
	if err := pace.Speed(o.speed).Validate(); err != nil {
		return report.UsageError("--speed 10", "--speed: %v", err)
	}
	if o.port < 0 || o.port > 65535 {
		return report.UsageError("--api-port 6443, or 0 for any that is free", "--api-port %d: want a number from 0 to 65535", o.port)
	}
	if o.trace != "" {
		path, err := filepath.Abs(o.trace) // the process in the background is elsewhere
		if err != nil {
			return err
		}
		o.trace = path
	}
	if !slices.Contains(balancers(), o.balancer) {
		return report.UsageError("--loadbalancer simple", "--loadbalancer %s: want simple, nsx or none", o.balancer)
	}
	if o.detach && o.dryRun {
		return report.UsageError(command.Program+" up --dry-run", "--detach and --dry-run exclude each other")
	}
	if err := o.completeUI(); err != nil {
		return err
	}
	if err := o.ccm.Check(); err != nil {
		return err
	}
	if err := o.csi.Check(); err != nil {
		return err
	}
	if err := o.limits.Check(); err != nil {
		return err
	}
	if err := o.ground.Check(); err != nil {
		return err
	}
	if err := o.ground.CheckCCM(&o.ccm); err != nil {
		return err
	}
	if err := o.csi.CheckCluster(o.ground.Cluster == ground.Kind); err != nil {
		return err
	}
	if err := o.kubernetes.Check(o.ground.Kubernetes()); err != nil { // flags first: nothing was read yet
		return err
	}
	var err error
	if o.realFlags.IsSet() { // the inventory is not read before it is needed
		if o.real, err = o.realFlags.Complete(o.Getenv); err != nil {
			return err
		}
		return o.checkBalancer()
	}
	if o.snapshot != nil {
		return o.loadFrom()
	}
	if o.topology, err = source.Load("up", o.source, o.set); err != nil {
		return err
	}
	o.lighten()
	return cmp.Or(o.csi.CheckTopology(o.topology), o.checkBalancer())
}

// balancers lists the values of --loadbalancer.
func balancers() []string {
	return []string{sandbox.LoadBalancerSimple, sandbox.LoadBalancerNSX, sandbox.LoadBalancerNone}
}

// checkBalancer refuses --loadbalancer nsx where there is no NSX Manager.
func (o *options) checkBalancer() error {
	switch {
	case o.balancer != sandbox.LoadBalancerNSX:
		return nil
	case o.alone != nil || o.ground.Cluster != ground.Embedded && o.ground.Cluster != ground.Kind:
		return report.UsageError("--loadbalancer simple", "--loadbalancer nsx needs --cluster embedded or kind: elsewhere the NSX Manager, on a loopback address of this machine, is out of reach of the cloud controller manager")
	case o.topology == nil || o.topology.Spec.NSX == nil:
		return report.UsageError(`add "nsx: {}" to the spec of the topology`, "--loadbalancer nsx: the topology has no NSX Manager")
	case o.ground.Cluster == ground.Kind && slices.ContainsFunc(o.topology.Spec.VCenters, func(v topology.VCenter) bool { return v.Name == deploy.NSXManager }):
		return report.UsageError("rename the vCenter", "--loadbalancer nsx: a vCenter is named %s, as pods call the NSX Manager", deploy.NSXManager)
	case o.topology.Spec.NSX.Routes && o.ground.Cluster != ground.Embedded:
		return report.UsageError("set routes to false in the topology, or leave --cluster kind out", "spec.nsx.routes needs --cluster embedded: kind's network plug-in makes the routes between its nodes, and none is in NSX")
	}
	return nil
}

// embedded reports whether the cluster is one of processes on this machine.
func (o *options) embedded() bool {
	return o.alone == nil && o.ground.Kubernetes() == kubernetes.Embedded
}

// lighten does what --light says.
func (o *options) lighten() {
	if o.light {
		o.topology.UseLightNodes()
	}
}

func (o *options) completeName() error {
	o.name, _ = o.Name()
	if err := instance.ValidateName(o.name); err != nil {
		return report.UsageError("--name lab", "%v", err)
	}
	return nil
}

// completeUI checks that the UI can be opened, before anything boots for it.
func (o *options) completeUI() error {
	if err := o.look.Complete(o.Getenv); err != nil || !o.tui {
		return err
	}
	if o.detach || o.detached || o.dryRun {
		return report.UsageError("vsphere-sandbox up --detach\nvsphere-sandbox tui", "--tui is for a sandbox in the foreground")
	}
	return tui.Terminal(o.Deps)
}

func run(ctx context.Context, o *options) error {
	if o.real != nil && !o.detach {
		if err := o.readReal(ctx); err != nil {
			return err
		}
	}
	if o.dryRun {
		return plan(ctx, o)
	}
	return start(ctx, o)
}

func start(ctx context.Context, o *options) error {
	// "up 2>&1 | head" ends what is said, not the sandbox.
	signal.Ignore(syscall.SIGPIPE)
	if o.detach {
		return detach(ctx, o)
	}
	return boot(ctx, o)
}

// combine decides which options go together. It sets what follows from others and refuses what excludes others. It reads flags
// alone; changed reports whether the user has set a flag, from is the scenario or file that the user has named, "" for none.
func (o *options) combine(changed func(flag string) bool, from string) error {
	isReal := o.realFlags.IsSet()
	o.ground.Watches = isReal && o.ground.Cluster == ground.Existing
	if isReal || o.ground.InCluster() || o.ccm.None() || o.ground.Watches {
		if !changed("csi") { // there is no write scope for volumes, no node that takes them, no vsphere.conf
			o.csi.Driver = csi.Off
		}
	}
	if isReal {
		if err := o.combineReal(from); err != nil {
			return err
		}
	}
	switch {
	case o.ground.Watches:
		if err := o.combineExisting(changed); err != nil {
			return err
		}
	case o.ground.InCluster():
		if err := o.combineInCluster(changed); err != nil {
			return err
		}
	}
	if o.ccm.None() && !o.csi.Disabled() {
		return report.UsageError("vsphere-sandbox up --ccm none --csi off", "--ccm none: there is no vsphere.conf for a CSI driver then")
	}
	if o.audit && o.ground.Cluster == ground.Kind {
		return report.UsageError("--kind-config FILE, with an audit policy for kubeadm in it", "--audit is for --cluster embedded: kind's API server keeps none")
	}
	return nil
}

// combineReal is for real vCenters, which take the place of a scenario or file.
func (o *options) combineReal(from string) error {
	switch {
	case from != "":
		return report.UsageError("vsphere-sandbox up --vcenter-config FILE", "%s: real vCenters are what they are: no scenario and no topology goes with --vcenter-config", from)
	case len(o.set) > 0:
		return report.UsageError("vsphere-sandbox up --vcenter-config FILE", "--set is about the parameters of a topology: no topology goes with --vcenter-config")
	case o.ground.Cluster == ground.Kind && !o.csi.Disabled():
		return report.UsageError("--csi off, or --cluster kind without --vcenter-config",
			"--csi %s: the disks of a real VM are not in the container that is its node", o.csi.Driver)
	}
	return nil
}

// combineExisting is for a sandbox whose nodes are those of a cluster that is there, and whose VMs are those of real vCenters: it
// is a process of this machine, and only watches unless a cloud controller manager is named.
func (o *options) combineExisting(changed func(string) bool) error {
	if !o.csi.Disabled() {
		return report.UsageError("leave --csi out", "--csi %s: the volumes of a real cluster are its own: it gets no CSI driver of a sandbox", o.csi.Driver)
	}
	for _, no := range []struct{ flag, why string }{
		{"image", "nothing of the sandbox runs as a pod there"},
		{"light", "its nodes are real ones, and none are light"},
		{"light-shards", "its nodes are real ones, and none are light"},
		{"beside-unowned-nodes", "a node is matched with its VM whether it has a providerID or not"},
		{"nodes", "which VMs are nodes is what the cluster says"},
		{"control-plane", "which nodes are the control plane is what the cluster says"},
		{"api-port", "the API server is not the sandbox's"},
		{"audit", "the API server is not the sandbox's"},
		{"loadbalancer", "its Services are not the sandbox's"},
	} {
		// A process that was detached gets all of the last ones.
		if changed(no.flag) && !o.detached {
			return report.UsageError("leave --"+no.flag+" out", "--%s, with --cluster existing and --vcenter-config: %s", no.flag, no.why)
		}
	}
	if !changed("speed") {
		o.speed = 1
	}
	if o.speed != 1 {
		return report.UsageError("leave --speed out", "--speed %g: a real cluster lives at its own pace, which is 1", o.speed)
	}
	if o.ccm.Source != "" || o.ccm.Watch != "" {
		return nil
	}
	for _, about := range []string{"ccm-arg", "ccm-env", "ccm-replicas", "ccm-manifest"} {
		if changed(about) {
			return report.UsageError("--ccm builtin", "--%s: in a real cluster no cloud controller manager is started unless --ccm or --ccm-watch says which", about)
		}
	}
	o.ccm.Source = ccm.None // one would change the nodes of a cluster that is in use
	return nil
}

// combineInCluster is for a sandbox in the pods of a cluster that has other users.
func (o *options) combineInCluster(changed func(string) bool) error {
	if o.realFlags.IsSet() { // of a pod
		return report.UsageError("vsphere-sandbox up --cluster existing --vcenter-config FILE   # from outside of the cluster",
			"--cluster %s and --vcenter-config exclude each other: real vCenters have no sandbox in a cluster", o.ground.Cluster)
	}
	if !o.csi.Disabled() {
		return report.UsageError("--cluster kind --csi builtin", "--csi %s: there, nodes are light ones, which take no volumes", o.csi.Driver)
	}
	if c := o.ccm; c.Source != "" && c.Source != "builtin" || c.Watch != "" || c.Manifest != "" || len(c.Env) > 0 {
		return report.UsageError("--cluster kind --ccm "+c.Source,
			"--cluster %s: it gets the built-in cloud controller manager and no other: upstream's deletes the Nodes of others, whose VMs it does not find", o.ground.Cluster)
	}
	for _, none := range []string{"api-port", "audit", "retain", "loadbalancer"} {
		if changed(none) && o.ground.Installs() && !o.detached {
			return report.UsageError("leave --"+none+" out", "--%s: the API server and its Services are not the sandbox's, and nothing is kept there", none)
		}
	}
	if changed("vcenter-port") {
		return report.UsageError("leave --vcenter-port out", "--vcenter-port: the vCenters run in their own pod there, where the port is always free")
	}
	return nil
}
