package csi

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/term"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/election"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/byid"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/device"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
)

const commandName = "vsphere-csi"

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
	own           string // the version that it gives as its own
	help, version bool
}

type controllerFlags struct {
	config, clusterID        string
	callTimeout, maxWait     time.Duration
	tagRefresh, configPeriod time.Duration
	fullSync, volumeHealth   time.Duration
	election                 election.Options
}

// parse reads the command line; environ has defaults for missing flags.
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
	driver.DurationVar(&cmd.timeout, "timeout", 0, "Timeout for calls whose client sets none; 0 for 5m in controller mode and 2m in node mode.")
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
	fs.StringVar(&c.config, "config", file, "csi-vsphere.conf, or the vsphere.conf of the cloud controller manager; the content decides which. A changed file is applied without a restart.")
	fs.StringVar(&c.clusterID, "cluster-id", "", "Identifier of this cluster's volumes if the file has no cluster-id; empty for the UID of the namespace kube-system. It must never change.")
	fs.DurationVar(&c.callTimeout, "vcenter-call-timeout", 20*time.Second, "How long one call to a vCenter may take.")
	fs.DurationVar(&c.maxWait, "vcenter-max-wait", time.Minute, "How long a vCenter may hold a long poll without news; a hung vCenter is noticed after this and one call's timeout.")
	fs.DurationVar(&c.tagRefresh, "tag-refresh-period", 0, "How often the tags of topology are read; 0 means 5m if the vCenter's events report tags, else 1m.")
	fs.DurationVar(&c.fullSync, "full-sync-period", minutes(env["FULL_SYNC_INTERVAL_MINUTES"], 30), "How often CNS's records of volumes are compared with PersistentVolumes, claims and pods; 0 leaves them as they were when the volume was created, and registers no existing disks.")
	fs.DurationVar(&c.volumeHealth, "volume-health-period", minutes(env["VOLUME_HEALTH_INTERVAL_MINUTES"], 5), "How often the health of volumes is read and written to their claims, as annotation "+names.HealthAnnotation+"; also when a datastore becomes accessible or inaccessible. 0, or no full syncs, writes none.")
	elect := flag.NewFlagSet("", flag.ContinueOnError)
	c.election.Flags(elect)
	fs.AddGoFlagSet(elect)
	fs.DurationVar(&c.configPeriod, "config-poll-period", 2*time.Second, "How often the configuration, certificate authorities and secrets directories are checked for changes.")
}

// minutes returns the period in one of upstream's variables, or upstream's default.
func minutes(value string, otherwise int) time.Duration {
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		otherwise = n
	}
	return time.Duration(otherwise) * time.Minute
}

// check validates the values.
func (c *command) check() error {
	switch {
	case !slices.Contains([]string{modeController, modeNode}, c.mode):
		return fmt.Errorf("--mode is %q; use controller or node", c.mode)
	case c.endpoint == "":
		return fmt.Errorf("--endpoint is missing; use unix:///PATH of the socket to serve CSI on")
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
		{"full-sync-period", c.controller.fullSync, 0},
		{"volume-health-period", c.controller.volumeHealth, 0},
		{"config-poll-period", c.controller.configPeriod, 10 * time.Millisecond},
	} {
		if f.d < f.min {
			return fmt.Errorf("--%s is %s, less than %s", f.name, f.d, f.min)
		}
	}
	return nil
}

// environment returns "NAME=VALUE" by name.
func environment(environ []string) map[string]string {
	env := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

const (
	backendDevice = "device"
	backendDir    = "dir"
	backendHollow = "hollow"
)

type nodeFlags struct {
	name, id, serialFile       string
	backend                    string
	byIDDir, stateDir, root    string
	registration, announced    string
	maxVolumes                 int64
	boot, noBlock, podEvents   string
	topology, bind             bool
	deviceTimeout, askTopology time.Duration
}

func (n *nodeFlags) add(fs *pflag.FlagSet, env map[string]string) {
	fs.StringVar(&n.name, "node-name", env["NODE_NAME"], "Name of the Node object; needed for topology.")
	fs.StringVar(&n.id, "node-id", "", "BIOS UUID of the VM; empty to read it from the file with the VM's serial number.")
	fs.StringVar(&n.serialFile, "serial-file", device.SerialFile, "File with the VM's serial number.")
	fs.StringVar(&n.backend, "backend", backendDevice, "Kind of volumes on this node: device (a block device), dir (a directory below --volumes-dir) or hollow (a directory that a symlink in --by-id-dir points to).")
	fs.StringVar(&n.byIDDir, "by-id-dir", byid.Folder, "Directory with the symlinks to disks.")
	fs.StringVar(&n.root, "volumes-dir", "", "Directory of volumes, with the dir backend.")
	fs.StringVar(&n.stateDir, "state-dir", "", "Directory in which the dir and hollow backends record mounts.")
	fs.BoolVar(&n.bind, "bind", false, "With the hollow backend, publish volumes with bind mounts, as containers need, instead of symlinks. Raw block volumes are not supported then.")
	fs.StringVar(&n.boot, "boot", "", "With the hollow backend, any text that identifies this boot of the VM: recorded mounts of another boot are discarded.")
	fs.StringVar(&n.noBlock, "no-block", "", "With the hollow backend, the reason why raw block volumes are refused; empty to publish them.")
	fs.StringVar(&n.podEvents, "pod-events", "", "Kubeconfig with which to write Events on pods about calls that fail, for a kubelet that writes none; it needs the rights of a kubelet.")
	fs.StringVar(&n.registration, "registration-socket", "", "Socket on which to register the driver with the kubelet, in its plugins_registry; empty if a node-driver-registrar does that.")
	fs.StringVar(&n.announced, "announced-endpoint", "", "Path of the CSI socket for the kubelet, if it differs from --endpoint.")
	fs.Int64Var(&n.maxVolumes, "max-volumes", maxVolumes(env), "Maximum number of volumes on the node: 59 with vCenter 7, up to 255 with vCenter 8.")
	fs.BoolVar(&n.topology, "topology", true, "Request the node's topology from the controller, with a CSINodeTopology object.")
	fs.DurationVar(&n.deviceTimeout, "device-timeout", 20*time.Second, "How long to wait for an attached disk, or for its new size, to appear.")
	fs.DurationVar(&n.askTopology, "topology-timeout", time.Minute, "How long to wait for the node's topology before the kubelet gets an error and retries.")
}

// maxVolumes returns the number in upstream's variable, or the default.
func maxVolumes(env map[string]string) int64 {
	if n, err := strconv.ParseInt(env["MAX_VOLUMES_PER_NODE"], 10, 64); err == nil && n > 0 {
		return n // one that is too large is refused as that of the flag
	}
	return names.MaxVolumes
}

func (n *nodeFlags) check() error {
	all := []string{backendDevice, backendDir, backendHollow}
	switch {
	case !slices.Contains(all, n.backend):
		return fmt.Errorf("--backend is %q; use one of %s", n.backend, strings.Join(all, ", "))
	case n.topology && n.name == "":
		return errors.New("--node-name is missing, which the request for the node's topology needs; or use --topology=false")
	case n.backend != backendDevice && n.stateDir == "":
		return fmt.Errorf("--state-dir is missing with --backend=%s", n.backend)
	case n.backend == backendDir && n.root == "":
		return errors.New("--volumes-dir is missing with --backend=dir")
	case n.bind && n.backend != backendHollow:
		return fmt.Errorf("--bind is for --backend=%s, not %s", backendHollow, n.backend)
	case n.bind && !folder.CanBind():
		return errors.New("--bind needs root on Linux")
	case n.backend == backendHollow && !n.bind && n.byIDDir == byid.Folder: // the host's own directory
		return errors.New("--by-id-dir is missing with --backend=hollow")
	case n.podEvents != "" && n.name == "":
		return errors.New("--node-name is missing, which --pod-events needs")
	case n.maxVolumes < 1 || n.maxVolumes > 255:
		return fmt.Errorf("--max-volumes is %d; use 1 to 255", n.maxVolumes)
	case n.deviceTimeout <= 0 || n.askTopology <= 0:
		return errors.New("--device-timeout and --topology-timeout must be positive")
	}
	return nil
}

// printHelp writes every flag by section, as wide as the terminal w.
func (c *command) printHelp(w io.Writer) {
	fmt.Fprintf(w, `The vSphere CSI driver provides volumes to the pods of a Kubernetes cluster whose nodes are virtual machines: disks on
the datastores of their vCenters. It creates, attaches, expands and snapshots them.

One controller serves the sidecars (external-provisioner, attacher, resizer, snapshotter). On every node, a node service
serves the kubelet.

Usage:
  %[1]s --mode=controller --endpoint=unix:///csi/csi.sock --config=FILE [FLAGS]
  %[1]s --mode=node --endpoint=unix:///csi/csi.sock --node-name=NAME [FLAGS]
`, commandName)
	columns, _, _ := term.TerminalSize(w)
	cliflag.PrintSections(w, c.sections, columns)
}
