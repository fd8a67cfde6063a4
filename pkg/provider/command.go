package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/controllers"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual"
)

// Run is the cloud controller manager with this provider, or with that of package paravirtual (--cloud-provider). It takes
// the command line of any cloud controller manager (args without the program's name). It returns when ctx has ended and
// every session is logged out, or with the error that prevented the start. It logs to stderr through klog, and prints
// --help and --version to stdout. A process can call Run once at a time, because the controllers keep process-wide
// registries. When Run loses the leader election, the process exits, as every cloud controller manager does.
//
// Its own flags are in the first section of --help. From the environment it reads upstream's VSPHERE_… variables (see
// package config), and POD_NAME, POD_NAMESPACE and POD_UID: the Pod that events about the configuration refer to.
func Run(ctx context.Context, args []string) error {
	cmd, err := parse(args)
	switch {
	case err != nil:
		return err
	case cmd.help:
		cmd.printHelp(os.Stdout)
		return nil
	case cmd.version:
		printVersion(os.Stdout)
		return nil
	}
	logs.InitLogs()
	defer logs.FlushLogs()
	// The files of the provider first: they are wrong more often than what follows.
	create, err := cmd.load(os.Environ())
	if err != nil {
		return err
	}
	if err := logsapi.ValidateAndApply(cmd.logs, utilfeature.DefaultFeatureGate); err != nil {
		return fmt.Errorf("ccm: logging flags: %w", err)
	}
	c, err := cmd.ccm.Config(controllers.Names(), app.ControllersDisabledByDefault.List(),
		names.CCMControllerAliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks)
	switch {
	case clientcmd.IsEmptyConfig(err):
		return errors.New("ccm: no API server: not in a pod, and --kubeconfig is missing")
	case err != nil:
		return fmt.Errorf("ccm: %w", err)
	}
	log := slog.New(logr.ToSlogHandler(klog.Background()))
	nudges := &controllers.Resyncer{}
	cloud, err := create(c.Kubeconfig, log, nudges)
	if err != nil {
		return err
	}
	stopHealth, err := cmd.serveHealth(ctx, cloud, log)
	if err != nil {
		return err
	}
	defer stopHealth()
	complete := c.Complete()
	initializers := controllers.Initializers(complete, cloud, nudges, controllers.Options{RelabelZones: cmd.relabelZones, Logger: log})
	err = app.Run(complete, cloud, initializers, map[string]app.WebhookHandler{}, ctx.Done())
	// With leader election, the context given to Initialize outlives ctx.
	cloud.Close()
	cloud.Wait()
	if err != nil {
		return fmt.Errorf("ccm: %w", err)
	}
	return nil
}

// cloud is a provider of either mode.
type cloud interface {
	cloudprovider.Interface
	Close()
	Wait()
	Health() []health.Status
}

// load reads the files of the selected mode, and returns a function that creates its provider.
func (c *command) load(environ []string) (func(guest *rest.Config, log *slog.Logger, nudges *controllers.Resyncer) (cloud, error), error) {
	if c.mode() == paravirtual.Name {
		return func(guest *rest.Config, log *slog.Logger, nudges *controllers.Resyncer) (cloud, error) {
			o := c.paravirtualOptions(guest, environ)
			o.Logger, o.Resyncer = log, nudges
			p, err := paravirtual.New(o)
			if err != nil {
				return nil, fmt.Errorf("ccm: %w", err)
			}
			return p, nil
		}, nil
	}
	cfg, err := c.cloudConfig(environ)
	if err != nil {
		return nil, err
	}
	return func(_ *rest.Config, log *slog.Logger, nudges *controllers.Resyncer) (cloud, error) {
		c.provider.Logger, c.provider.Resyncer, c.provider.Registry = log, nudges, metrics.Process()
		return New(cfg, c.provider)
	}, nil
}

// mode returns the value of --cloud-provider.
func (c *command) mode() string { return c.ccm.KubeCloudShared.CloudProvider.Name }

// serveHealth serves the probes and the metrics, if they have an address, until stop is called.
func (c *command) serveHealth(ctx context.Context, cloud cloud, log *slog.Logger) (stop func(), err error) {
	if c.healthAddress == "" {
		return func() {}, nil
	}
	server, err := health.Listen(ctx, health.Config{
		Address: c.healthAddress, Source: cloud.Health, Metrics: legacyregistry.Handler(), Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("ccm: --health-address: %w", err)
	}
	// The probes are served until the last session has ended.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Run(ctx); err != nil {
			log.Error("health server ended", "err", err)
		}
	}()
	return func() {
		cancel()
		<-done
	}, nil
}

// cloudConfig reads the configuration from the file, else from the environment, and sets the provider's options for it.
func (c *command) cloudConfig(environ []string) (*config.Config, error) {
	o := &c.provider
	o.Pod = podOf(environ)
	o.ClusterName = c.ccm.KubeCloudShared.ClusterName
	defaultSecrets := config.WithDefaultSecrets(config.DefaultSecretsDirectory)
	if o.ConfigFile = c.ccm.KubeCloudShared.CloudProvider.CloudConfigFile; o.ConfigFile != "" {
		o.ConfigOptions = []config.Option{config.WithEnvironment(environ), defaultSecrets}
		return config.LoadFile(o.ConfigFile, o.ConfigOptions...)
	}
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); value != "" && strings.HasPrefix(name, "VSPHERE_VCENTER") {
			return config.LoadEnvironment(environ, defaultSecrets)
		}
	}
	return nil, errors.New("ccm: no vCenter: --cloud-config is missing, and neither VSPHERE_VCENTER nor VSPHERE_VCENTER_<id> is set")
}

func podOf(environ []string) Pod {
	var p Pod
	for _, v := range environ {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "POD_NAME":
			p.Name = value
		case "POD_NAMESPACE":
			p.Namespace = value
		case "POD_UID":
			p.UID = value
		}
	}
	return p
}

const commandName = "vsphere-cloud-controller-manager"

// ownSection is the --help section of the flags that other cloud controller managers do not have.
const ownSection = "provider"

// command is a parsed command line.
type command struct {
	ccm      *options.CloudControllerManagerOptions
	logs     *logs.Options
	sections cliflag.NamedFlagSets
	provider Options
	// paravirtual are the options of the other mode, without what Run adds.
	paravirtual paravirtual.Options

	healthAddress string // empty for none
	relabelZones  bool
	help, version bool
}

// parse reads the command line.
func parse(args []string) (*command, error) {
	cmd, err := newCommand()
	if err != nil {
		return nil, fmt.Errorf("ccm: %w", err)
	}
	fs := pflag.NewFlagSet(commandName, pflag.ContinueOnError)
	fs.Usage = func() {}
	for _, set := range cmd.sections.FlagSets {
		fs.AddFlagSet(set)
	}
	if err := fs.Parse(args); err != nil {
		return nil, fmt.Errorf("ccm: %w; --help lists all flags", err)
	}
	cmd.help, _ = fs.GetBool("help") // defined by newCommand
	switch {
	case cmd.help || cmd.version:
		return cmd, nil
	case fs.NArg() > 0:
		return nil, fmt.Errorf("ccm: unexpected argument %q", fs.Arg(0))
	}
	if err := cmd.check(); err != nil {
		return nil, fmt.Errorf("ccm: %w", err)
	}
	return cmd, nil
}

func newCommand() (*command, error) {
	ccm, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	ccm.KubeCloudShared.CloudProvider.Name = Name
	// A node takes some three requests to be initialized. At the default of 20 per second, a thousand nodes would wait for
	// two minutes for the API server alone, which protects itself with priority and fairness.
	ccm.Generic.ClientConnection.QPS, ccm.Generic.ClientConnection.Burst = 200, 400
	// A Service takes some calls to NSX, one after the other, in which its worker waits.
	ccm.ServiceController.ConcurrentServiceSyncs = 8
	cmd := &command{ccm: ccm, logs: logs.NewOptions()}
	sets := ccm.Flags(controllers.Names(), app.ControllersDisabledByDefault.List(),
		names.CCMControllerAliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks)
	global := sets.FlagSet("global")
	logsapi.AddFlags(cmd.logs, global)
	globalflag.AddGlobalFlags(global, commandName, logs.SkipLoggingConfigurationFlags())
	global.BoolVar(&cmd.version, "version", false, "Print the version and exit.")
	cmd.addOwn(sets.FlagSet(ownSection))
	cmd.addParavirtual(sets.FlagSet(supervisorSection))
	// Our own flags first: the others are in the documentation of Kubernetes.
	own := []string{ownSection, supervisorSection}
	sets.Order = slices.Insert(slices.DeleteFunc(sets.Order, func(s string) bool { return slices.Contains(own, s) }), 0, own...)
	cmd.sections = sets
	return cmd, nil
}

// addOwn adds the flags that other cloud controller managers do not have.
func (c *command) addOwn(fs *pflag.FlagSet) {
	o := &c.provider
	fs.StringToStringVar(&o.NodeLabels, "node-labels", nil, "Labels, as key=value,..., that every node gets when it is initialized. A label that the node already has stays unchanged.")
	fs.BoolVar(&c.relabelZones, "relabel-zones", false, "Update the region and zone labels of nodes when their VMs move. Kubernetes expects them never to change: a volume bound to a zone does not move with the node.")
	fs.StringVar((*string)(&o.Parity), "parity", "", `"upstream" selects the behavior of kubernetes/cloud-provider-vsphere where this provider differs from it on purpose, also for deleting nodes; empty selects this provider's own behavior, which is safer.`)
	fs.DurationVar(&o.CallTimeout, "vcenter-call-timeout", 10*time.Second, "How long one call to a vCenter may take.")
	fs.DurationVar(&o.MaxWait, "vcenter-max-wait", time.Minute, "How long a vCenter may hold a long poll without news; a hung vCenter is noticed after this and one call's timeout.")
	fs.DurationVar(&o.TagRefresh, "tag-refresh-period", 0, "How often the tags of zones and regions are read; 0 means 5m if the vCenter's events report tags, else 1m.")
	fs.DurationVar(&o.ConfigPeriod, "config-poll-period", 2*time.Second, "How often the cloud config, certificate authorities and secrets directories are checked for changes.")
	fs.StringVar(&c.healthAddress, "health-address", "", "Loopback address and port on which to serve /healthz, /readyz and /metrics over plain HTTP; empty for none.")
}

// check validates the values.
func (c *command) check() error {
	if name := c.mode(); name != Name && name != paravirtual.Name {
		return fmt.Errorf("--cloud-provider is %q; use %q, or %q in a guest cluster of a Supervisor", name, Name, paravirtual.Name)
	}
	if err := c.checkParavirtual(); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		d    time.Duration
		min  time.Duration
	}{
		{"vcenter-call-timeout", c.provider.CallTimeout, 100 * time.Millisecond},
		{"vcenter-max-wait", c.provider.MaxWait, time.Second},
		{"tag-refresh-period", c.provider.TagRefresh, 100 * time.Millisecond},
		{"config-poll-period", c.provider.ConfigPeriod, 10 * time.Millisecond},
	} {
		if f.d < f.min && !(f.d == 0 && f.name == "tag-refresh-period") {
			return fmt.Errorf("--%s is %s, less than %s", f.name, f.d, f.min)
		}
	}
	if p := c.provider.Parity; p != "" && p != ParityUpstream {
		return fmt.Errorf("--parity is %q; use %q or leave it empty", p, ParityUpstream)
	}
	if err := checkNodeLabels(c.provider.NodeLabels); err != nil {
		return fmt.Errorf("--node-labels: %w", err)
	}
	if c.healthAddress != "" {
		if _, port, err := net.SplitHostPort(c.healthAddress); err != nil || port == "" {
			return fmt.Errorf("--health-address is %q; use a loopback address with a port, like 127.0.0.1:10267", c.healthAddress)
		}
	}
	return nil
}

// printHelp writes every flag by section, as wide as the terminal w.
func (c *command) printHelp(w io.Writer) {
	fmt.Fprintf(w, `The vSphere cloud controller manager initializes the nodes of a Kubernetes cluster that are virtual machines of one or
more vCenters: providerID, addresses, instance type, region and zone. It taints those whose VM is off, and deletes
those whose VM is confirmed gone.

The cloud config (upstream's vsphere.conf) lists the vCenters; without --cloud-config they come from environment
variables (VSPHERE_VCENTER and so on). A changed file is applied without a restart where that is safe.

With --cloud-provider=vsphere-paravirtual it runs in a guest cluster of a Supervisor instead, without a vCenter: nodes
are the VirtualMachines of a namespace on the Supervisor, and Services of type LoadBalancer get VirtualMachineServices.

Usage:
  %s --cloud-config=FILE [FLAGS]
  %[1]s --cloud-provider=vsphere-paravirtual --cluster-name=NAME [FLAGS]
`, commandName)
	columns, _, _ := term.TerminalSize(w)
	cliflag.PrintSections(w, c.sections, columns)
}

func printVersion(w io.Writer) {
	info, _ := debug.ReadBuildInfo()
	fmt.Fprintf(w, "%s %s\n", commandName, versionOf(version.Get().GitVersion, info))
}

// versionOf returns the stamped version (hack/image stamps one). Without a stamp it returns what the Go command recorded
// about the module and its repository. info may be nil.
func versionOf(stamped string, info *debug.BuildInfo) string {
	if stamped != "" && !strings.Contains(stamped, "$Format") { // git export-subst has not replaced it
		return stamped
	}
	v := "v0.0.0-dev"
	if info == nil {
		return v
	}
	here := reflect.TypeFor[Provider]().PkgPath()
	for _, m := range slices.Concat(info.Deps, []*debug.Module{&info.Main}) {
		if strings.HasPrefix(here, m.Path+"/") && m.Version != "" && m.Version != "(devel)" {
			return m.Version // includes the revision if the Go command made it from the repository
		}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if revision := settings["vcs.revision"]; revision != "" {
		v += " " + revision
	}
	if settings["vcs.modified"] == "true" {
		v += " modified"
	}
	return v
}
