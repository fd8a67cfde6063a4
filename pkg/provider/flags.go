package provider

import (
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/controllers"
)

const commandName = "vsphere-cloud-controller-manager"

// ownSection is the --help section of the flags that other cloud controller managers do not have.
const ownSection = "provider"

// command is a parsed command line.
type command struct {
	ccm      *options.CloudControllerManagerOptions
	logs     *logs.Options
	sections cliflag.NamedFlagSets
	provider Options

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
	cmd := &command{ccm: ccm, logs: logs.NewOptions()}
	sets := ccm.Flags(controllers.Names(), app.ControllersDisabledByDefault.List(),
		names.CCMControllerAliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks)
	global := sets.FlagSet("global")
	logsapi.AddFlags(cmd.logs, global)
	globalflag.AddGlobalFlags(global, commandName, logs.SkipLoggingConfigurationFlags())
	global.BoolVar(&cmd.version, "version", false, "Print the version and exit.")
	cmd.addOwn(sets.FlagSet(ownSection))
	// Our own flags first: the others are in the documentation of Kubernetes.
	sets.Order = slices.Insert(slices.DeleteFunc(sets.Order, func(s string) bool { return s == ownSection }), 0, ownSection)
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
	if name := c.ccm.KubeCloudShared.CloudProvider.Name; name != Name {
		return fmt.Errorf("--cloud-provider is %q; the only value is %q", name, Name)
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

Usage:
  %s --cloud-config=FILE [FLAGS]
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
