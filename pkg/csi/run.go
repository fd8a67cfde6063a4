package csi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics/legacyregistry"
	baseversion "k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/election"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/identity"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/metrics"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/device"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/dir"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/hollow"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/podevents"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/rpc"
	providerconfig "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	providermetrics "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// Run is the driver. It takes its command line (args without the program's name) and the version that it gives as its own;
// "" is the one that is stamped into the program. It returns when ctx has ended, calls in
// progress are answered and every session is logged out, or with the error that prevented the start. It logs to stderr
// through klog, and prints --help and --version to stdout. A process can call Run once at a time, because metrics and log
// flags are process-wide.
//
// From the environment it reads upstream's X_CSI_MODE, CSI_ENDPOINT, VSPHERE_CSI_CONFIG, NODE_NAME, MAX_VOLUMES_PER_NODE,
// FULL_SYNC_INTERVAL_MINUTES and VOLUME_HEALTH_INTERVAL_MINUTES as defaults of flags, and the VSPHERE_… variables of its configuration file (see pkg/csi/config and
// pkg/provider/config).
func Run(ctx context.Context, own string, args []string) error {
	cmd, err := parse(args, os.Environ())
	switch {
	case err != nil:
		return err
	case cmd.help:
		cmd.printHelp(os.Stdout)
		return nil
	case cmd.version:
		fmt.Fprintln(os.Stdout, commandName, cmp.Or(own, version()))
		return nil
	}
	cmd.own = cmp.Or(own, version())
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := logsapi.ValidateAndApply(cmd.logs, nil); err != nil {
		return fmt.Errorf("csi: logging flags: %w", err)
	}
	log := slog.New(withAttrs{Handler: logr.ToSlogHandler(klog.Background())})
	log.Info("starting", "mode", cmd.mode, "version", cmd.own)
	if cmd.mode == modeNode {
		return cmd.runNode(ctx, log)
	}
	return cmd.runController(ctx, log)
}

// background runs f until end is called, which waits for it. f does not end with ctx, because the parts of the driver end in
// a certain order.
func background(ctx context.Context, log *slog.Logger, what string, f func(context.Context) error) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil && ctx.Err() == nil {
			log.Error("background work ended", "work", what, "err", err)
		}
	}()
	return func() {
		began := time.Now()
		cancel()
		<-done
		log.Debug("ended", "part", what, "seconds", time.Since(began).Seconds())
	}
}

func (c *command) runController(ctx context.Context, log *slog.Logger) error {
	k, err := connect(c.kubeconfig, c.own)
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	reading, err := c.controller.reading(ctx, k, c.environ)
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	var engine atomic.Pointer[Engine] // for the metrics; nil until created
	status := func() []health.Status {
		if e := engine.Load(); e != nil {
			return e.Status(ctx)
		}
		return nil
	}
	m, err := metrics.New(providermetrics.Process(), func() []metrics.VCenter { return measures(status()) })
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	var lead election.Elector
	if c.controller.election.Enabled {
		if lead, err = c.controller.election.Elector(k.config, objects.Lease(objects.Controller), nil); err != nil {
			return fmt.Errorf("csi: %w", err)
		}
	}
	e, err := NewEngine(ctx, Options{
		Config: config.Options{
			ReadOptions: reading, File: c.controller.config, Period: c.controller.configPeriod,
			UserAgent: UserAgent, CallTimeout: c.controller.callTimeout, MaxWait: c.controller.maxWait,
		},
		Kubernetes: k, TagRefresh: c.controller.tagRefresh, FullSync: c.controller.fullSync, VolumeHealth: c.controller.volumeHealth, Lead: lead, Metrics: m, Logger: log,
	})
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	engine.Store(e)
	defer e.Close()
	stopHealth, err := serveHealth(ctx, c.metricsAddress, status, log)
	if err != nil {
		return err
	}
	defer stopHealth()
	s, err := rpc.Listen(ctx, rpc.Config{
		Endpoint: c.endpoint, Timeout: c.timeout, Observe: m.Call, Logger: log,
		Register: func(r grpc.ServiceRegistrar) {
			csiapi.RegisterIdentityServer(r, &identity.Server{Version: c.own, Ready: func() error { return e.Ready(ctx) }})
			csiapi.RegisterControllerServer(r, e.Controller)
		},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	log.Info("serving", "endpoint", c.endpoint)
	return s.Run(ctx)
}

// UserAgent identifies the controller to vCenters.
const UserAgent = "vsphere-csi-controller"

// reading returns how to read the configuration file. If neither the file nor the command line has a cluster id, it reads
// the cluster's UID.
func (f *controllerFlags) reading(ctx context.Context, k *Kubernetes, environ []string) (config.ReadOptions, error) {
	r := config.ReadOptions{ClusterID: f.clusterID, Environment: environ, DefaultSecrets: providerconfig.DefaultSecretsDirectory}
	if _, err := config.LoadFile(f.config, r); err == nil || r.ClusterID != "" {
		return r, err
	}
	probe := r
	probe.ClusterID = "any"
	if _, err := config.LoadFile(f.config, probe); err != nil {
		return r, err // more than the cluster id is missing
	}
	var err error
	r.ClusterID, err = k.clusterUID(ctx)
	return r, err
}

// serveHealth serves the probes and the metrics, if they have an address, until stop is called.
func serveHealth(ctx context.Context, address string, status func() []health.Status, log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	s, err := health.Listen(ctx, health.Config{Address: address, Source: status, Metrics: legacyregistry.Handler(), Logger: log})
	if err != nil {
		return nil, fmt.Errorf("csi: --metrics-address: %w", err)
	}
	return background(ctx, log, "health server", s.Run), nil
}

func (c *command) runNode(ctx context.Context, log *slog.Logger) error {
	n := &c.node
	id := n.id
	if id == "" {
		var err error
		if id, err = device.NodeID(n.serialFile); err != nil {
			return fmt.Errorf("csi: --node-id is missing, and: %w", err)
		}
	}
	b, err := n.newBackend(log)
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	o := node.Options{
		NodeID: id, MaxVolumes: n.maxVolumes, TopologyTimeout: n.askTopology, Timeout: c.timeout,
		Backend: b, Logger: log,
	}
	if n.topology {
		k, err := connect(c.kubeconfig, c.own)
		if err != nil {
			return fmt.Errorf("csi: %w", err)
		}
		o.Topology = func(ctx context.Context) (map[string]string, error) { return k.topology(ctx, n.name, id) }
	}
	if n.podEvents != "" {
		k, err := connect(n.podEvents, c.own)
		if err != nil {
			return fmt.Errorf("csi: --pod-events: %w", err)
		}
		events := podevents.New(podevents.Config{Client: k.Client, Node: n.name, Logger: log})
		defer background(ctx, log, "events of pods", events.Run)()
		o.Failed = events.Failed
	}
	stopHealth, err := serveHealth(ctx, c.metricsAddress, func() []health.Status { return nil }, log)
	if err != nil {
		return err
	}
	defer stopHealth()
	p, err := node.Listen(ctx, o, node.Sockets{CSI: c.endpoint, Registration: n.registration, Announced: n.announced, Version: c.own})
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	defer p.Close()
	log.Info("serving", "endpoint", c.endpoint, "node", n.name, "uuid", id, "backend", n.backend)
	return p.Run(ctx)
}

func (n *nodeFlags) newBackend(log *slog.Logger) (node.Backend, error) {
	switch n.backend {
	case backendDir:
		return dir.New(dir.Options{Root: n.root, StateDir: n.stateDir, Bind: folder.CanBind(), Logger: log})
	case backendHollow:
		return hollow.New(n.hollow(log))
	}
	return device.New(device.Options{ByIDDir: n.byIDDir, Timeout: n.deviceTimeout, Logger: log})
}

// hollow returns that backend's options. With bind mounts, a pod gets a directory, so there are no raw block volumes.
func (n *nodeFlags) hollow(log *slog.Logger) hollow.Options {
	o := hollow.Options{ByIDDir: n.byIDDir, StateDir: n.stateDir, Timeout: n.deviceTimeout, Boot: n.boot, NoBlock: n.noBlock, Bind: n.bind, Logger: log}
	if n.bind {
		o.NoBlock = "volumes on this node are directories, not block devices"
	}
	return o
}

// topology requests the node's topology from the controller.
func (k *Kubernetes) topology(ctx context.Context, name, uuid string) (map[string]string, error) {
	n, err := k.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return nodetopology.Request(ctx, k.Dynamic, name, uuid, n)
}

// Kubernetes contains the clients of one cluster.
type Kubernetes struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	config  *rest.Config
}

// connect creates clients from a kubeconfig, or in a pod. It makes no calls.
func connect(kubeconfig, own string) (*Kubernetes, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	switch {
	case kubeconfig == "" && errors.Is(err, rest.ErrNotInCluster), clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no API server: not in a pod, and --kubeconfig is missing")
	case err != nil:
		return nil, err
	}
	// The API server protects itself with priority and fairness; a thousand nodes must not wait for this limit.
	cfg.QPS, cfg.Burst = 200, 400
	cfg.UserAgent = commandName + "/" + own
	k := Kubernetes{config: cfg}
	if k.Client, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, err
	}
	if k.Dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, err
	}
	return &k, nil
}

// clusterUID returns the UID of kube-system, which identifies a cluster for its lifetime.
func (k *Kubernetes) clusterUID(ctx context.Context) (string, error) {
	ns, err := k.Client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("--cluster-id is missing, and the UID of namespace %s is not readable: %w", metav1.NamespaceSystem, err)
	}
	return string(ns.UID), nil
}

// withAttrs adds the attributes of Logger.With to each record, because klog's handler drops them (klogger.Handle in its
// klogr_slog.go), and with them the vCenter of a line. It does not support groups.
type withAttrs struct {
	slog.Handler
	attrs []slog.Attr
}

// WithAttrs implements [slog.Handler].
func (h withAttrs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withAttrs{h.Handler, slices.Concat(h.attrs, attrs)}
}

// Handle implements [slog.Handler].
func (h withAttrs) Handle(ctx context.Context, r slog.Record) error {
	all := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	all.AddAttrs(h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		all.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, all)
}

// version returns the stamped version (hack/image stamps one), else what the Go command recorded about the repository.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(baseversion.Get().GitVersion, info)
}

func versionOf(stamped string, info *debug.BuildInfo) string {
	if stamped != "" && !strings.Contains(stamped, "$Format") { // git export-subst has not replaced it
		return stamped
	}
	v := "v0.0.0-dev"
	if info == nil {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		return m // includes the revision if the Go command made it from the repository
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && s.Value != "" {
			v += "-" + s.Value
		}
	}
	return v
}
