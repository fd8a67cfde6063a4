package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/election"
)

// controllers are the controllers of a sidecar.
type controllers interface {
	// flags adds the sidecar's own flags, with upstream's defaults.
	flags(fs *flag.FlagSet)
	// build creates the controllers without running them.
	build(ctx context.Context, w *dependencies) (*sidecarControllers, error)
}

// dependencies has the dependencies of the controllers.
type dependencies struct {
	options
	rest   *rest.Config // JSON, for custom resources
	client kubernetes.Interface
	driver *driver // nil for a sidecar without
}

type sidecarControllers struct {
	// lease is the name of their Lease, as in upstream's main packages, so that two releases of a sidecar exclude each other.
	lease string
	// run returns when ctx ends; wg counts workers that are still busy then.
	run func(ctx context.Context, wg *sync.WaitGroup)
	// metrics are those beyond the common ones.
	metrics []prometheus.Gatherer
}

// shutdownTimeout is how long workers may take to finish after the end is requested.
const shutdownTimeout = 5 * time.Second

// run runs the sidecar until ctx ends, which is no error, or until a failure at which upstream's exits too: a lost driver or a lost
// Lease.
func (s sidecar) run(ctx context.Context, args []string, stdout io.Writer) error {
	c, w, logging, err := s.parse(args, stdout)
	if err != nil {
		return err
	}
	if w.showVersion {
		fmt.Fprintln(stdout, s.name, s.version())
		return nil
	}
	if err := errors.Join(w.validate(s.driver), logging.apply(), setGates(w.gates)); err != nil {
		return err
	}
	klog.InfoS("Version", "sidecar", s.name, "version", s.version())

	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	err = s.serve(ctx, end, c, w)
	// Report the cause rather than its consequence.
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// parse reads the command line; it prints --help to stdout.
func (s sidecar) parse(args []string, stdout io.Writer) (controllers, *dependencies, *logger, error) {
	c, w := s.new(), &dependencies{}
	fs := flag.NewFlagSet(s.name, flag.ContinueOnError)
	fs.SetOutput(stdout)
	w.flags(fs, s.driver)
	c.flags(fs)
	logging := logFlags(fs)
	if err := fs.Parse(args); err != nil {
		return nil, nil, nil, err
	}
	if fs.NArg() > 0 {
		return nil, nil, nil, fmt.Errorf("%s takes no argument %q", s.name, fs.Arg(0))
	}
	return c, w, logging, nil
}

// serve works until ctx ends; end ends it.
func (s sidecar) serve(ctx context.Context, end context.CancelCauseFunc, c controllers, w *dependencies) error {
	plain, protobuf, err := w.kube()
	if err != nil {
		return err
	}
	w.rest = plain
	if w.client, err = kubernetes.NewForConfig(protobuf); err != nil {
		return err
	}
	if s.driver {
		if w.driver, err = connect(ctx, w.address, end); err != nil {
			return err
		}
		defer w.driver.close()
	}
	b, err := c.build(ctx, w)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	lead, err := w.election.Elector(plain, b.lease, mux)
	if err != nil {
		return err
	}
	stop, err := w.listen(mux, b, end)
	if err != nil {
		return err
	}
	defer stop()
	return lead(ctx, func(ctx context.Context) {
		var busy sync.WaitGroup
		b.run(ctx, &busy)
		waitFor(&busy, shutdownTimeout)
	})
}

// waitFor waits with a timeout.
func waitFor(wg *sync.WaitGroup, atMost time.Duration) {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(atMost):
		klog.InfoS("Running work did not finish in time", "after", atMost)
	}
}

// moduleRoot is the prefix of all their modules.
const moduleRoot = "github.com/kubernetes-csi/"

func help(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "The stock sidecars of a CSI driver in one program.\n\nUsage: csi-sidecars SIDECAR [FLAGS]\n\n")
	for _, s := range sidecars() {
		fmt.Fprintf(t, "  %s\t%s\n", s.name, s.about)
	}
	fmt.Fprint(t, "\n`csi-sidecars SIDECAR --help` lists a sidecar's flags, `csi-sidecars version` the releases.\n")
	return t.Flush()
}

// versions returns this program's version and those of the modules in it.
func versions(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "csi-sidecars\t%s\n", build.Version())
	for _, s := range sidecars() {
		fmt.Fprintf(t, "%s\t%s\n", s.name, s.version())
	}
	return t.Flush()
}

// version returns the release of its module, as recorded by the linker.
func (s sidecar) version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == moduleRoot+s.module {
				return m.Version
			}
		}
	}
	return "unknown"
}

// logger are the logging flags: -v and so on, as in every component of Kubernetes.
type logger struct {
	gate   featuregate.MutableVersionedFeatureGate
	config *logsapi.LoggingConfiguration
	err    error
}

func logFlags(fs *flag.FlagSet) *logger {
	l := &logger{gate: featuregate.NewFeatureGate(), config: logsapi.NewLoggingConfiguration()}
	l.err = logsapi.AddFeatureGates(l.gate)
	logsapi.AddGoFlags(l.config, fs)
	return l
}

// apply can be called once in a process.
func (l *logger) apply() error {
	if l.err != nil {
		return l.err
	}
	logs.InitLogs()
	return logsapi.ValidateAndApply(l.config, l.gate)
}

// setGates sets the feature gates of the sidecars. Upstream's gate for a graceful end is enabled by default: without it, the workers
// of the controllers are not waited for.
func setGates(asked map[string]bool) error {
	gates := map[string]bool{"ReleaseLeaderElectionOnExit": true}
	maps.Copy(gates, asked)
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(gates)
}

// run runs the program with its arguments, of which the first is its name.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	name, rest := filepath.Base(args[0]), args[1:]
	if _, ok := find(name); !ok {
		if len(rest) == 0 {
			name, rest = "help", nil
		} else {
			name, rest = rest[0], rest[1:]
		}
	}
	switch name {
	case "help", "--help", "-help", "-h":
		return help(stdout)
	case "version", "--version", "-version":
		return versions(stdout)
	}
	s, ok := find(name)
	if !ok {
		return fmt.Errorf("%q is not a sidecar; use one of %v", name, names())
	}
	return s.run(ctx, rest, stdout)
}

// sidecar is one of the programs in this one.
type sidecar struct {
	name, about string
	module      string // whose controllers it runs
	driver      bool   // whether it talks to a driver
	new         func() controllers
}

func sidecars() []sidecar {
	return []sidecar{
		{"csi-provisioner", "creates and deletes volumes", "external-provisioner/v6", true, func() controllers { return &provision{} }},
		{"csi-attacher", "attaches volumes to nodes and detaches them", "external-attacher/v4", true, func() controllers { return &attach{} }},
		{"csi-resizer", "expands volumes", "external-resizer/v2", true, func() controllers { return &resize{} }},
		{"csi-snapshotter", "takes and deletes snapshots", "external-snapshotter/v8", true, func() controllers { return &snapshot{} }},
		{"snapshot-controller", "binds VolumeSnapshots to their contents", "external-snapshotter/v8", false, func() controllers { return &snapshotController{} }},
	}
}

func find(name string) (sidecar, bool) {
	all := sidecars()
	i := slices.IndexFunc(all, func(s sidecar) bool { return s.name == name })
	if i < 0 {
		return sidecar{}, false
	}
	return all[i], true
}

func names() []string {
	var all []string
	for _, s := range sidecars() {
		all = append(all, s.name)
	}
	return all
}

// options are the flags that all sidecars share, with the defaults of csi-lib-utils' standardflags.
type options struct {
	showVersion         bool
	kubeconfig, address string
	qps                 float64
	burst               int
	retryStart          time.Duration
	retryMax            time.Duration
	httpEndpoint        string
	metricsPath         string
	gates               map[string]bool
	election            election.Options
}

func (o *options) flags(fs *flag.FlagSet, driver bool) {
	fs.BoolVar(&o.showVersion, "version", false, "Print the release and exit.")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "Path to a kubeconfig; needed outside of a pod.")
	if driver {
		fs.StringVar(&o.address, "csi-address", "/run/csi/socket", "Unix socket of the CSI driver.")
	}
	fs.Float64Var(&o.qps, "kube-api-qps", 5, "Maximum number of requests per second to the API server.")
	fs.IntVar(&o.burst, "kube-api-burst", 10, "Maximum burst of requests to the API server.")
	fs.DurationVar(&o.retryStart, "retry-interval-start", time.Second, "Initial retry interval of failed operations. It doubles with each failure.")
	fs.DurationVar(&o.retryMax, "retry-interval-max", 5*time.Minute, "Maximum retry interval of failed operations.")
	fs.StringVar(&o.httpEndpoint, "http-endpoint", "", "TCP address for metrics and the health of leader election, such as 127.0.0.1:8080; empty for none.")
	fs.StringVar(&o.metricsPath, "metrics-path", "/metrics", "Path of the metrics at --http-endpoint.")
	fs.Var(cliflag.NewMapStringBool(&o.gates), "feature-gates", "Feature gates of the sidecar, as name=true,name=false.")
	o.election.Flags(fs)
}

func (o *options) validate(driver bool) error {
	if driver && !strings.HasPrefix(o.address, "/") && !strings.HasPrefix(o.address, "unix://") {
		return fmt.Errorf("--csi-address=%s: must be the path of a unix socket", o.address)
	}
	if o.retryStart <= 0 || o.retryMax < o.retryStart {
		return errors.New("--retry-interval-start must be positive and at most --retry-interval-max")
	}
	return nil
}

// kube returns configurations for the API server; protobuf is for built-in resources.
func (o *options) kube() (plain, protobuf *rest.Config, err error) {
	if o.kubeconfig == "" {
		plain, err = rest.InClusterConfig()
	} else {
		plain, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--kubeconfig=%s: %w", o.kubeconfig, err)
	}
	plain.QPS, plain.Burst = float32(o.qps), o.burst
	protobuf = rest.CopyConfig(plain)
	protobuf.ContentType = runtime.ContentTypeProtobuf
	return plain, protobuf, nil
}

// retries returns the rate limiter for failures, a separate one for each queue.
func (o *options) retries() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](o.retryStart, o.retryMax)
}
