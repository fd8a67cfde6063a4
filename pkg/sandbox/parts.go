package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/csidriver"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/actions"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/await"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/boot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/clusterwatch"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/desired"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/evidence"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/faults"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/inspect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/loadbalancer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/pods"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/processes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/recording"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/rows"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/secrets"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/supervisor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/tracing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// assemble makes the parts of a sandbox and connects them. Parts that others read through functions may be made in any order.
func assemble(s *Sandbox) {
	opts, list := &s.opts, func() vcenters.List { return vcentersOf(s) }
	watched := func() vcenters.List {
		if s.currentWorld() == nil {
			return nil
		}
		return vcentersOf(s)
	}
	s.server = control.Server{Path: func() string { return s.opts.Dir.SocketPath() }, Handler: s.routes, Logger: opts.Logger}
	timeout := max(boot.StepTimeout, s.source.StepTime())
	s.boot = boot.Boot{Log: s.log, Logger: opts.Logger, Timeout: timeout, Report: func(p Progress) {
		if s.opts.Progress != nil {
			s.opts.Progress(p)
		}
	}}
	kubelet := func(node string) string {
		if k, err := s.nodes.Kubelet(node); err == nil {
			return k.Component
		}
		return ""
	}
	seen := evidence.Finder{
		Log: s.log, Components: func() []api.Component { return s.components.All() }, Kubelet: kubelet,
		IsKubelet: func(component string) bool { return strings.HasPrefix(component, "node/") },
	}
	s.boot.Evidence = seen.Of
	s.await = await.Waiter{Log: s.log, Timeout: timeout, Detail: s.boot.Detail}
	s.desired = desired.New(opts.Topology)
	s.desired.Log, s.desired.Phase, s.desired.VCenters, s.desired.Builder, s.desired.Light = s.log, s.boot.Phase, watched, s.source.Builder, opts.Light
	s.desired.NamesFree = func(ctx context.Context, top *topology.Topology) error {
		if g, ok := s.ground.(ground.Shared); ok {
			return g.NamesFree(ctx, top)
		}
		return nil
	}
	s.desired.AssignRoles = func(top, passing *topology.Topology) {
		s.nodes.Assign(top, passing)
		s.rows.RolesChanged()
	}
	s.desired.Applied = func(ctx context.Context) error {
		err := s.config.Update(ctx)
		if err == nil {
			s.tags.Refresh(ctx)
		}
		return err
	}
	s.faults = &faults.Faults{Source: s.source, Refuse: func(k *fault.Kind) (why, try string) {
		if g, ok := s.sourced(); ok {
			return g.Lacks(k)
		}
		return "", ""
	}}
	grace := cmp.Or(s.facts.Speed, opts.Speed).Of(pace.NodeMonitorGracePeriod) // a shared cluster keeps its own speed
	s.causes = &causality.Finder{
		Log: s.log, Grace: grace, Topology: s.desired.Topology, Lease: s.faults.Lease,
		VM: func(node string) (vcenter, vm string) {
			b := s.nodes.VMOf(node)
			return b.Key.VCenter, b.VM
		},
	}
	s.tags = &vcenters.Tags{
		VCenters: list, Log: s.log, Changed: s.rows.TagsChanged, Logger: opts.Logger,
		Categories: func() topology.Categories { return s.desired.Topology().Spec.Categories },
	}
	s.inventory = vcenters.Watch{
		Log: s.log, Tags: s.tags, Background: &s.background, Changed: s.rows.VCenterChanged, FollowLog: s.rows.FollowLog, FollowCalls: s.rows.FollowCalls,
	}
	s.listing = vcenters.Listing{World: s.currentWorld, VCenters: watched, Tags: s.tags, Nodes: s.Nodes, CAFile: s.vcenterCA, ContainerURL: opts.ContainerURL}
	s.tracer = tracing.Tracer{Path: opts.Trace, VCenters: watched, Secrets: func() []string { return s.secrets.Values() }}
	s.components = &components.Registry{
		Command: opts.Command, Dir: opts.Dir, Log: s.log, Logger: opts.Logger, Cache: &s.watchCache, Crashed: s.boot.Crashed,
		Describe: func(rows []api.Component) {
			s.ccm.Describe(rows)
			s.nodes.Describe(rows)
			s.csi.Describe(rows)
		},
	}
	s.storage = &storage.Watcher{
		Log: s.log, Causes: s.causes, Cache: &s.watchCache, ForceDetach: opts.Speed.Of(pace.AttachDetachMaxWaitForUnmount), Allow: s.source.AllowVolume,
		VCenters: list, Nodes: func() []api.Node { return s.world.Nodes() },
	}
	s.listing.Volumes = s.storage.Rows
	s.volumes = storage.Server{
		Watcher: s.storage, Built: s.built,
		Mounts: func(volume string) []api.Path { return s.nodes.Mounts(volume) },
		Guest:  func(file string) (api.Path, bool) { return s.nodes.DiskPath(file) },
		Ground: func(v api.Volume) (path api.Path, ok bool, err error) {
			g, ok := s.ground.(ground.Volumes)
			if ok {
				path, err = g.Path(v)
			}
			return path, ok, err
		},
	}
	s.secrets = secrets.Secrets{Dir: opts.Dir, Logger: opts.Logger, VCenters: watched}
	s.proxies.Server = func() string { return s.cluster.Addr() }
	s.tokens = accounts.Tokens{Client: s.client, Log: s.log, Background: &s.background, AddSecret: s.secrets.Know}
	s.nodes = nodes.New(nodes.Options{
		Ground: func() ground.Ground { return s.ground }, Topology: opts.Topology, VCenters: list, World: s.currentWorld,
		Cluster: func() cluster.Cluster { return s.cluster }, Dir: opts.Dir, Speed: opts.Speed, Log: s.log, Logger: opts.Logger,
		Causes: s.causes, Components: s.components, Proxies: &s.proxies, Tokens: &s.tokens, Background: &s.background,
	})
	s.rows = rows.Rows{
		Log: s.log, Cache: &s.watchCache, VCenters: list, Tags: s.tags, Storage: s.storage, Components: s.components, Roles: s.nodes,
		VMs: func(vms []world.VM) {
			s.nodes.Observe(vms)
			s.supervisor.VMsChanged(vms)
		},
		VMOf: func(node string) world.VMKey { return s.nodes.VMOf(node).Key },
	}
	s.actions = actions.Actions{
		Log: s.log, World: s.currentWorld, VCenters: list, Kubernetes: s.client, Hang: s.nodes.Hang,
		Allow: func(vm world.VM, r api.VMRequest) error {
			if g, ok := s.sourced(); ok && r.Action == api.Hang {
				return g.Refuse(fmt.Sprintf("vm %q: a guest is hung", vm.Name))
			}
			return s.source.AllowVM(vm, r)
		},
		ReadOnlyNodes: func() bool { _, ok := s.sourced(); return ok },
		Supervisor:    func() *gate.Gate { return s.supervisor.Gate() },
		NSX: func() *gate.Gate {
			if m := s.nsx.Manager(); m != nil {
				return m.Gate()
			}
			return nil
		},
	}
	s.files = recording.Files{
		Log: s.log, Dir: opts.Dir, Source: &s.watchCache, Background: &s.background,
		Head: func() api.Recording {
			return api.Recording{
				APIVersion: api.RecordingVersion, Kind: api.RecordingKind,
				Sandbox: s.opts.Name, Topology: s.desired.Topology().Metadata.Name, Speed: float64(s.opts.Speed), StartedAt: s.start,
				Version: build.Version(), KubernetesVersion: s.version.of(&s.opts.Cluster, s.client()), Ground: s.standsOn(),
			}
		},
	}
	s.pods = &pods.Pods{
		Log: s.log, Logger: opts.Logger, Dir: opts.Dir, Components: s.components, Background: &s.background, VCenters: list,
		CAFile: s.vcenterCA, CloudConfig: s.source.CloudConfig, NSX: s.nsx.Account,
		NSXConfig: func(at deploy.ConfigLocation) ([]byte, error) {
			if opts.LoadBalancer != LoadBalancerNSX {
				return nil, nil
			}
			host, port := s.pods.Endpoint(deploy.NSXManager)
			return s.nsx.CloudConfig(nsx.Place{
				Host: net.JoinHostPort(host, strconv.Itoa(port)), CAFile: at.CAFile, Secret: at.NSXSecret, Namespace: at.SecretNamespace,
			})
		},
	}
	s.csi = &csi.Driver{
		Log: s.log, Causes: s.causes, Dir: opts.Dir, Speed: opts.Speed, Topology: opts.Topology, Sidecars: opts.CSI.Sidecars, Args: s.source.Args(),
		Env:             ccm.Environ,
		Options:         opts.CSI.Options,
		Logger:          opts.Logger,
		Ready:           func() error { return changeable(s) },
		StartTime:       s.source.StepTime(),
		Unhealthy:       func(text string) { s.boot.Crashed(boot.MaxCrashes, text) },
		SecretNamespace: cloudconfig.Namespace, SecretName: cloudconfig.Secret,
		Cluster: func() cluster.Cluster { return s.cluster }, Components: s.components, Proxies: &s.proxies, Tokens: &s.tokens, Background: &s.background,
		World:   func() *world.World { return s.world },
		Light:   func(v world.VM) bool { return s.nodes.IsLight(v) },
		Kubelet: kubelet,
		Waiter:  &s.await, Pods: s.pods, Conf: s.source.CSIConfig,
		Volumes: func() deploy.CSI {
			if g, ok := s.ground.(ground.Volumes); ok {
				v := g.PodVolumes()
				return deploy.CSI{Backend: v.Backend, VolumesDir: v.Dir, SerialFile: v.Serial}
			}
			return deploy.CSI{}
		},
	}
	if hasSupervisor(s) {
		s.csi.Guest = s.supervisor.Environment
		s.storage.Guest = &s.supervisor
	}
	if f := opts.CSI.Foreign; f != nil {
		s.csi.Manifest = f.Manifest
		if f.Released && opts.Topology.Zoned() {
			s.csi.Manifest = csidriver.WithTopology(f.Manifest)
		}
	}
	s.processes = processes.Processes{
		Log: s.log, Causes: s.causes, Ongoing: &s.ongoing, Components: s.components, Proxies: &s.proxies, Tokens: &s.tokens,
		Nodes: s.nodes, Pods: s.pods, CSI: s.csi, CCM: func() ccm.Manager { return s.ccm }, Volumes: opts.CSI.Enabled,
	}
	s.clusterWatch = clusterwatch.Watch{
		Ground: func() ground.Ground { return s.ground }, Client: s.client, World: s.currentWorld, Topology: s.desired.Topology,
		Log: s.log, Logger: opts.Logger, Causes: s.causes, Cache: &s.watchCache, Storage: s.storage, Background: &s.background,
		Role: func(node string) topology.Role { return s.nodes.VMOf(node).Role },
		Bind: func(keys []world.VMKey) {
			for _, key := range keys {
				if v, ok := vcentersOf(s).VM(key); ok {
					s.nodes.Bind(v)
					s.rows.VMChanged(v)
				}
			}
		},
		Identity: s.supervisor.Changed, Secret: s.secrets.KnowObject, Service: s.services.Changed, CSINode: s.csi.NodeChanged,
		NeedsRestart: func(seq uint64) { s.ccm.NeedsRestart(seq) }, NoLoadBalancer: opts.LoadBalancer == LoadBalancerNone || opts.LoadBalancer == "",
	}
	_, nodePorts := s.ground.(ground.NodePorts)
	s.loadBalancer = loadbalancer.Balancer{
		Client: s.client, REST: func() *rest.Config { return s.cluster.REST() }, Log: s.log, Logger: opts.Logger, Background: &s.background,
		Block: func() int { return loopback.Block(hostsOf(vcentersOf(s))) }, NodePorts: nodePorts,
		Follow: opts.LoadBalancer == LoadBalancerNSX || paravirtual(s),
		Light: func(node string) bool {
			k, err := s.nodes.Kubelet(node)
			return err == nil && k.Light
		},
	}
	s.nsx = nsx.Part{
		Spec: func() *topology.NSX { return s.opts.Topology.Spec.NSX }, CA: func() *cert.CA { return s.snapshots.authority }, Log: s.log, Logger: opts.Logger,
		Saved: func() string {
			if s.opts.From == nil {
				return ""
			}
			return filepath.Join(s.opts.From.Path, snapshot.NSX)
		},
		Block: s.loadBalancer.Block, Port: func() int {
			for _, vc := range vcentersOf(s) {
				return vc.Port()
			}
			return 0
		},
	}
	s.nsx.Pods, s.nsx.AddSecret = func() bool { return ccmDeployed(s) && opts.LoadBalancer == LoadBalancerNSX }, s.secrets.Know
	s.nsx.Names = func() []string {
		if g, ok := s.ground.(ground.NSXNames); ok {
			return g.NSXNames()
		}
		return nil
	}
	s.nsx.Changed = s.services.NSXChanged
	s.services.Set, s.services.Background = s.watchCache.SetService, &s.background
	if hasNSX(s) {
		s.services.NSX = s.nsx.Rows
	}
	s.supervisor = supervisor.Part{
		Topology: s.desired.Topology, API: func() supervisor.API { return s.cluster.(supervised).Supervisor() }, Guest: s.client,
		VCenters: list, Block: s.loadBalancer.Block, Detail: s.boot.Detail, Nodes: s.Nodes, AddSecret: func(v ...string) error { return s.secrets.Know(v...) },
		DiskChanged: func(id string) { s.storage.DiskChanged(id) }, Rows: &s.watchCache, Log: s.log, Logger: opts.Logger,
	}
	if opts.Dir != nil { // nil in tests
		s.supervisor.Dir = opts.Dir.Path("supervisor")
		s.nsx.Dir = opts.Dir.Path("ccm")
	}
	s.inspector = newInspector(s)
}

// hasNSX reports whether the topology has an NSX Manager that runs on the ground.
func hasNSX(s *Sandbox) bool { return s.opts.Topology != nil && s.opts.Topology.Spec.NSX != nil }

// hasSupervisor reports whether the topology has a Supervisor that runs on the ground.
func hasSupervisor(s *Sandbox) bool {
	g, ok := s.ground.(ground.Supervised)
	return ok && g.Supervised()
}

// paravirtual reports whether the cloud controller manager of the boot asks the Supervisor.
func paravirtual(s *Sandbox) bool {
	return hasSupervisor(s) && ccm.Paravirtual(s.opts.CCM.WithDefaults())
}

// supervised is a cluster whose control plane serves a Supervisor's API.
type supervised interface {
	Supervisor() *embedded.SupervisorAPI
}

// hostsOf lists the addresses of vCenters.
func hostsOf(all vcenters.List) (hosts []string) {
	for _, vc := range all {
		hosts = append(hosts, vc.Host())
	}
	return hosts
}

// newInspector returns what explains and inspects the objects of s.
func newInspector(s *Sandbox) *inspect.Inspector {
	cut := func(component string) bool {
		w := s.proxies.Find(component)
		return w != nil && w.IsCut()
	}
	_, others := s.sourced()
	i := &inspect.Inspector{
		Log: s.log, World: s.currentWorld, Kubernetes: s.client, Roles: s.nodes, Volumes: s.storage.Rows,
		Datastores: func() []api.Datastore { return vcentersOf(s).Datastores() },
		Components: s.components.Rows, Leases: s.faults.Rows, Grace: s.causes.Grace, SharedCluster: others, VMOf: s.causes.VM,
		VCenters: func() (all []inspect.VCenter) {
			for _, vc := range vcentersOf(s) {
				all = append(all, inspect.VCenter{
					Row: vc.Row(), Server: vc.Host(), Client: vc.Client, Inventory: vc.Inventory, Gate: vc.Gate(), Simulated: vc.Simulated, Calls: vc.Calls,
				})
			}
			return all
		},
		NodeOf: func(vcenter, vm string) string { return s.nodes.Find(s.world.VMs(), vcenter, vm) },
		Cut: func(node string) bool {
			k, err := s.nodes.Kubelet(node)
			return err == nil && cut(k.Proxy)
		},
		CCM: inspect.CCM{
			Replicas: func() (rows []api.Component) {
				for _, row := range s.components.Rows() {
					if s.ccm.Has(row.Name) {
						rows = append(rows, row)
					}
				}
				return rows
			},
			Cut:  cut,
			Log:  func(component string) string { return s.opts.Dir.Log(component) },
			Args: func() []string { return s.ccm.Running().Args },
			Config: func() (*config.Config, error) {
				if s.guarded() == nil {
					return config.LoadFile(s.config.File)
				}
				conf, err := s.config.RenderFile() // the file of the cluster's own cloud controller manager is unknown
				if err != nil {
					return nil, err
				}
				return config.Load(cloudconfig.Key, conf)
			},
		},
	}
	if hasNSX(s) {
		i.NSX = s.nsx.Rows
	}
	if hasSupervisor(s) {
		i.Supervisor = s.supervisor.State
	}
	return i
}
