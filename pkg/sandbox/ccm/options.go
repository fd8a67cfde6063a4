package ccm

import (
	"os"
	"slices"
	"strings"

	programs "github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
)

const (
	// Component is the name of the first replica. The others are ccm-2, ccm-3 and so on.
	Component = "ccm"
	// ServiceAccount is the account as which cloud controller managers act.
	ServiceAccount = "cloud-controller-manager"
	// EventSource is the component name in the Kubernetes Events of this project's provider.
	EventSource = "vsphere-cloud-provider"
	// Command is the command of this program that runs the built-in cloud controller manager.
	Command = "builtin-ccm"
	// MaxReplicas bounds how many replicas a request may ask for.
	MaxReplicas = 9
	// leaseName is the Lease by which replicas elect a leader.
	leaseName = "cloud-controller-manager"
)

// IsReplica reports whether a component is a cloud controller manager.
func IsReplica(component string) bool {
	return component == Component || strings.HasPrefix(component, Component+"-")
}

// Options choose a cloud controller manager. The zero value is the built-in one.
type Options struct {
	// Program takes the flags of cloud controller managers (k8s.io/cloud-provider). A program that is not built from this
	// project gets the rights of upstream's manifests.
	Program programs.Program
	// Manifest deploys Program, which is then the program in the manifest's image. It is applied unchanged. A program
	// without a manifest runs as a process of this host, also on grounds with pods.
	Manifest []byte
	// Installed is how a release installs Program: the process gets its arguments, its environment and its rights. nil for the
	// sandbox's own arguments and the rights of Program. Other has the installations of programs that may take its place, by their
	// sources.
	Installed *installed.Installation
	Other     map[string]*installed.Installation
	// Args follow the sandbox's own arguments and override them.
	Args []string
	// Env is added to the environment, as KEY=VALUE. The environment of the sandbox is passed on without the variables that
	// configure providers.
	Env []string
	// Replicas is the number of replicas; 0 is one. Several replicas elect a leader.
	Replicas int
	// Watch is a file. Each new build of it replaces the program. "" watches no file.
	Watch string
	// None starts no cloud controller manager until one is swapped in. The user then writes vsphere.conf, the credentials and
	// the roles. None does not work with pods or with a CSI driver, which reads the same vsphere.conf.
	None bool
}

// NoCCM returns the options of a sandbox without a cloud controller manager.
func NoCCM() Options { return Options{None: true, Program: programs.Program{Source: "none"}} }

// WithDefaults returns the options with the built-in program and one replica where nothing else is set.
func (o Options) WithDefaults() Options {
	if o.Program.Path == "" {
		o.Program = programs.Program{Source: string(programs.Builtin), Own: true}
	}
	o.Replicas = max(o.Replicas, 1)
	return o
}

// HasImage reports whether pods can run it: there is an image of the built-in program, and a manifest names one.
func (o Options) HasImage() bool {
	return o.Watch == "" && (o.Program.Path == "" || len(o.Manifest) > 0)
}

// Name returns the name of the program in messages.
func (o Options) Name() string {
	if v := o.Program.Version; v != "" && !strings.Contains(o.Program.Source, v) {
		return o.Program.Source + " (" + v + ")"
	}
	return o.Program.Source
}

// shortDigest returns the part of a digest that distinguishes two builds.
func shortDigest(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return hex[:min(len(hex), 12)]
}

// names returns the names of two programs in a message about both. Two builds of one program are named with their digests.
func names(a, b Options) (string, string) {
	if a.Name() != b.Name() || a.Program.Digest == b.Program.Digest {
		return a.Name(), b.Name()
	}
	return a.Name() + " (" + shortDigest(a.Program.Digest) + ")", b.Name() + " (" + shortDigest(b.Program.Digest) + ")"
}

// replaces describes a swap.
func (o Options) replaces(old Options) string {
	next, before := names(o, old)
	return next + " takes the place of " + before
}

// Environ returns the environment of this process without secrets and without what providers read their configuration from:
// VSPHERE_USER and others, which a user may have set for a real vCenter. It also leaves out what marks the process as a pod of
// the cluster in which the sandbox itself may run.
func Environ() []string {
	environ, _ := secret.Split(os.Environ())
	return slices.DeleteFunc(environ, func(v string) bool {
		for _, prefix := range []string{"KUBERNETES_SERVICE_", "POD_NAME", "SKIP_NODE_DELETION", "ENABLE_ALPHA_"} {
			if strings.HasPrefix(v, prefix) {
				return true
			}
		}
		return strings.HasPrefix(v, "VSPHERE_") && !strings.HasPrefix(v, "VSPHERE_SANDBOX_")
	})
}
