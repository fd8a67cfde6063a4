package sandbox

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// CCM says which cloud controller manager runs, and how. The zero value is the built-in one.
type CCM struct {
	// Program takes the flags of cloud controller managers (k8s.io/cloud-provider). One that is not this project's runs
	// with the rights that upstream's manifests give.
	Program ccm.Program
	// Manifest is what it is deployed with where it runs as pods, applied as it is; a program that is not the built-in one
	// and has none runs as a process of this machine there, too. Program is then what is in the manifest's image.
	Manifest []byte
	// Args come after the sandbox's own, and so in their places.
	Args []string
	// Env is added to the environment, as KEY=VALUE. Variables by which providers are configured are not taken over from
	// the sandbox's own.
	Env []string
	// Replicas is how many run; 0 is one. More than one elect a leader.
	Replicas int
	// Watch is a file: whenever it has been built anew, it takes the place of the program. "" watches none.
	Watch string
	// None: none runs until one is swapped in, and what it needs in the cluster, vsphere.conf and credentials and rights,
	// somebody else puts there. Where pods run, and with a CSI driver, which has the same vsphere.conf, it is not provided for.
	None bool
}

func (c CCM) withDefaults() CCM {
	if c.Program.Path == "" {
		c.Program = ccm.Program{Source: string(ccm.Builtin), Own: true}
	}
	c.Replicas = max(c.Replicas, 1)
	return c
}

// asPods reports whether it can run as pods: a program of this machine that has no manifest is in no image.
func (c CCM) asPods() bool {
	return c.Watch == "" && (c.Program.Path == "" || len(c.Manifest) > 0)
}

// maxReplicas bounds what one machine is asked to run.
const maxReplicas = 9

// name is what the program is called in messages.
func (c CCM) name() string {
	if v := c.Program.Version; v != "" && !strings.Contains(c.Program.Source, v) {
		return c.Program.Source + " (" + v + ")"
	}
	return c.Program.Source
}

// shortDigest is as much of a digest as tells two builds apart.
func shortDigest(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return hex[:min(len(hex), 12)]
}

// place says what takes the place of what: of two builds of one program, by their digests.
func place(next, was CCM) string {
	a, b := next.name(), was.name()
	if a == b && next.Program.Digest != was.Program.Digest {
		a, b = a+" ("+shortDigest(next.Program.Digest)+")", b+" ("+shortDigest(was.Program.Digest)+")"
	}
	return a + " takes the place of " + b
}

// ccmLeaseName is the Lease that several elect a leader by.
const ccmLeaseName = "cloud-controller-manager"

func (s *Sandbox) ccmArgs(r *replica, c CCM, elect bool) []string {
	args := []string{
		"--cloud-provider=vsphere",
		"--cloud-config=" + s.cloudConfigFile(),
		"--kubeconfig=" + s.ccmKubeconfig(r.name),
		// Probes and metrics, for us: whoever may connect may read them, so that nobody's token has to be reviewed.
		"--bind-address=" + ccmHost,
		"--secure-port=" + r.port,
		"--tls-cert-file=" + s.opts.Dir.Path("ccm", "serving.crt"),
		"--tls-private-key-file=" + s.opts.Dir.Path("ccm", "serving.key"),
		"--authentication-skip-lookup=true",
		"--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics",
		"--node-monitor-period=" + s.opts.Speed.Of(pace.CCMNodeMonitor).String(),
		"--node-status-update-frequency=" + s.opts.Speed.Of(pace.CCMNodeStatusUpdate).String(),
	}
	if c.Program.Own {
		args = append(args,
			"--tag-refresh-period="+s.opts.Speed.Of(pace.TagRefresh).String(),
			"--config-poll-period="+configPoll.String(),
			"--concurrent-node-syncs=4")
		if s.opts.Real != nil {
			args = append(args, realCallTimeout())
		}
	} else {
		args = append(args, "--v=2") // as upstream's manifests have it
	}
	if elect {
		lease := s.opts.Speed.Of(pace.CCMLease)
		args = append(args,
			"--leader-elect=true",
			"--leader-elect-lease-duration="+lease.String(),
			"--leader-elect-renew-deadline="+(lease*2/3).Round(time.Millisecond).String(),
			"--leader-elect-retry-period="+(lease*2/15).Round(time.Millisecond).String())
		if s.facts.Namespace != "" { // the Lease of that name in kube-system is another's
			args = append(args, "--leader-elect-resource-namespace="+s.ccmNamespace())
		}
	} else {
		// There is one, and it is started again when it ends: no lease to wait for.
		args = append(args, "--leader-elect=false")
	}
	return append(args, c.Args...)
}

// ccmSpec is the process of a replica.
func (s *Sandbox) ccmSpec(r *replica, c CCM, elect bool) child.Spec {
	args := s.ccmArgs(r, c, elect)
	spec := s.components.Spec(child.Spec{
		Name: r.name, Path: c.Program.Path, Env: append(withoutProviderVariables(os.Environ()), c.Env...),
		Args: append([]string{ccmCommand}, args...),
	})
	if c.Program.Path != "" {
		spec.Args = args // it is no command of ours
	}
	return spec
}

// ccmCommand is the command of this program that is the built-in cloud controller manager.
const ccmCommand = "builtin-ccm"

// withoutProviderVariables leaves out what the provider would read its configuration from: VSPHERE_USER and the like, which
// a user of other vSphere tools may have set for a vCenter of flesh and blood. It also leaves out what tells a program that
// it is a pod of the cluster that the sandbox itself may run in.
func withoutProviderVariables(environ []string) []string {
	environ, _ = secret.Split(environ)
	return slices.DeleteFunc(environ, func(v string) bool {
		for _, prefix := range []string{"KUBERNETES_SERVICE_", "POD_NAME", "SKIP_NODE_DELETION", "ENABLE_ALPHA_"} {
			if strings.HasPrefix(v, prefix) {
				return true
			}
		}
		return strings.HasPrefix(v, "VSPHERE_") && !strings.HasPrefix(v, "VSPHERE_SANDBOX_")
	})
}

// realCallTimeout is the flag of our programs by which they wait for real vCenters as long as the sandbox itself does.
func realCallTimeout() string { return "--vcenter-call-timeout=" + vcenter.Patience.String() }
