package csi

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// commandName is what the program is called in its own words.
const commandName = "vsphere-csi"

// The modes.
const (
	modeController = "controller"
	modeNode       = "node"
)

// command is a parsed command line.
type command struct {
	mode, endpoint, kubeconfig string
	metricsAddress             string // empty for none
	timeout                    time.Duration
	controller                 controllerFlags
	node                       nodeFlags

	logs          *logs.Options
	environ       []string
	sections      cliflag.NamedFlagSets
	help, version bool
}

// controllerFlags are those of the controller mode.
type controllerFlags struct {
	config, clusterID        string
	callTimeout, maxWait     time.Duration
	tagRefresh, configPeriod time.Duration
}

// parse reads the command line. environ has defaults for what is not on it.
func parse(args, environ []string) (*command, error) {
	cmd := newCommand(environ)
	fs := pflag.NewFlagSet(commandName, pflag.ContinueOnError)
	fs.Usage = func() {}
	for _, set := range cmd.sections.FlagSets {
		fs.AddFlagSet(set)
	}
	if err := fs.Parse(args); err != nil {
		return nil, fmt.Errorf("csi: %w; --help lists all flags", err)
	}
	cmd.help, _ = fs.GetBool("help") // defined by newCommand
	switch {
	case cmd.help || cmd.version:
		return cmd, nil
	case fs.NArg() > 0:
		return nil, fmt.Errorf("csi: unexpected argument %q", fs.Arg(0))
	}
	if err := cmd.check(); err != nil {
		return nil, fmt.Errorf("csi: %w", err)
	}
	return cmd, nil
}

func newCommand(environ []string) *command {
	cmd := &command{logs: logs.NewOptions(), environ: environ}
	env := environment(environ)
	driver := cmd.sections.FlagSet("driver")
	driver.StringVar(&cmd.mode, "mode", env["X_CSI_MODE"], "controller or node.")
	driver.StringVar(&cmd.endpoint, "endpoint", env["CSI_ENDPOINT"], "unix:///path of the socket to serve CSI on.")
	driver.StringVar(&cmd.kubeconfig, "kubeconfig", env["KUBECONFIG"], "Kubeconfig of the cluster; empty in a pod.")
	driver.StringVar(&cmd.metricsAddress, "metrics-address", "", "Loopback address and port on which to serve /healthz, /readyz and /metrics over plain HTTP; empty for none.")
	driver.DurationVar(&cmd.timeout, "timeout", 0, "How long a call may take whose client sets no limit; 0 for 5m in controller mode and 2m in node mode.")
	cmd.controller.add(cmd.sections.FlagSet(modeController), env)
	cmd.node.add(cmd.sections.FlagSet(modeNode), env)
	global := cmd.sections.FlagSet("global")
	logsapi.AddFlags(cmd.logs, global)
	globalflag.AddGlobalFlags(global, commandName, logs.SkipLoggingConfigurationFlags())
	global.BoolVar(&cmd.version, "version", false, "Print the version and exit.")
	return cmd
}

func (c *controllerFlags) add(fs *pflag.FlagSet, env map[string]string) {
	file := env["VSPHERE_CSI_CONFIG"]
	if file == "" {
		file = "/etc/cloud/csi-vsphere.conf" // upstream's
	}
	fs.StringVar(&c.config, "config", file, "csi-vsphere.conf, or the vsphere.conf of the cloud controller manager: which one, its content says. A changed file is taken up without a restart.")
	fs.StringVar(&c.clusterID, "cluster-id", "", "What tells this cluster's volumes from others' where the file has no cluster-id; empty for the UID of the namespace kube-system. It must never change.")
	fs.DurationVar(&c.callTimeout, "vcenter-call-timeout", 20*time.Second, "How long one call to a vCenter may take.")
	fs.DurationVar(&c.maxWait, "vcenter-max-wait", time.Minute, "How long a vCenter may hold a long poll without news; a hung vCenter is noticed after this and one call's timeout.")
	fs.DurationVar(&c.tagRefresh, "tag-refresh-period", 0, "How often the tags of topology are read; 0 means 5m where the vCenter's events tell of tags, else 1m.")
	fs.DurationVar(&c.configPeriod, "config-poll-period", 2*time.Second, "How often the configuration, certificate authorities and secrets directories are looked at for a change.")
}

// check returns what is wrong with the values.
func (c *command) check() error {
	switch {
	case !slices.Contains([]string{modeController, modeNode}, c.mode):
		return fmt.Errorf("--mode is %q: controller or node", c.mode)
	case c.endpoint == "":
		return fmt.Errorf("--endpoint is missing: unix:///path of the socket to serve CSI on")
	case c.timeout < 0:
		return fmt.Errorf("--timeout is %s", c.timeout)
	case c.mode == modeNode:
		return c.node.check()
	}
	for _, f := range []struct {
		name   string
		d, min time.Duration
	}{
		{"vcenter-call-timeout", c.controller.callTimeout, 100 * time.Millisecond},
		{"vcenter-max-wait", c.controller.maxWait, time.Second},
		{"tag-refresh-period", c.controller.tagRefresh, 0},
		{"config-poll-period", c.controller.configPeriod, 10 * time.Millisecond},
	} {
		if f.d < f.min {
			return fmt.Errorf("--%s is %s, less than %s", f.name, f.d, f.min)
		}
	}
	return nil
}

// environment is "NAME=VALUE" by name.
func environment(environ []string) map[string]string {
	env := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}
