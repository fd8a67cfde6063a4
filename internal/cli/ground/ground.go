package ground

import (
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/incluster"
)

// In has the flags that the chart passes to "up" in its pod. They are not for users.
type In struct {
	ControlPort, FeedPort int
	FeedDir               string
}

func (i *In) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&i.ControlPort, "control-port", existing.ControlPort, "")
	f.IntVar(&i.FeedPort, "feed-port", existing.ControlPort+1, "")
	f.StringVar(&i.FeedDir, "feed-dir", "", "")
	for _, name := range []string{"control-port", "feed-port", "feed-dir"} {
		_ = f.MarkHidden(name) // its only error is an unknown flag
	}
}

// pod is the pod that this process is in, as the chart's variables say.
func (i *In) pod(getenv func(string) string) (*incluster.Options, error) {
	ip, err := netip.ParseAddr(getenv("POD_IP"))
	if err != nil {
		return nil, report.UsageError("vsphere-sandbox up --cluster existing", "--cluster pod: this is not a pod of the sandbox's chart: POD_IP: %v", err)
	}
	return &incluster.Options{
		Name: getenv("POD_NAME"), Namespace: getenv("POD_NAMESPACE"), Node: getenv("NODE_NAME"), IP: ip,
		ControlPort: i.ControlPort, FeedPort: i.FeedPort, FeedDir: i.FeedDir,
	}, nil
}

// CheckCCM refuses flags of the cloud controller manager that would be ignored in this cluster. Both have been checked.
func (f *Flags) CheckCCM(c *ccm.Flags) error {
	if c.None() && f.Cluster != Embedded && !f.Watches {
		return report.UsageError("leave --ccm out", "--ccm none is for --cluster embedded: here it comes with the cluster")
	}
	if !f.Podded() {
		if c.Manifest != "" {
			return report.UsageError("--cluster kind --ccm-manifest "+c.Manifest, "--ccm-manifest is for --cluster kind: here it runs as a process")
		}
		return nil
	}
	if c.Watch != "" { // a process of this machine, in this cluster, too
		if c.Manifest != "" {
			return report.UsageError("--ccm image:… --ccm-manifest "+c.Manifest, "--ccm-watch and --ccm-manifest exclude each other: what is watched runs as a process")
		}
		return nil
	}
	from, err := program.CCM.Parse(c.Source)
	if err != nil {
		return ccm.Explain(err)
	}
	if from.Kind() == program.File && c.Manifest == "" {
		return nil // the same
	}
	if len(c.Env) > 0 {
		return report.UsageError("--ccm-manifest FILE, with the environment in it", "--ccm-env: with --cluster kind it runs as pods, whose environment is in their manifest")
	}
	if from.Kind() == program.Builtin {
		return nil
	}
	if len(c.Args) > 0 || c.Replicas > 1 {
		return report.UsageError("--ccm-manifest FILE, with them in it",
			"--ccm-arg and --ccm-replicas: with --cluster kind %s is deployed with its own manifest, which is not changed", c.Source)
	}
	return nil
}

// ExistingOptions selects an existing cluster, and how the sandbox uses it.
type ExistingOptions struct {
	Kubeconfig, Context string
	// Image is what its pods run; "" for what "images save --ground existing" calls this program's.
	Image string
	// Shards is how many pods share the nodes; 0 for as many as they need.
	Shards int
	// AllowController and AllowUnowned allow what they say.
	AllowController, AllowUnowned bool
}

func (t *ExistingOptions) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.Kubeconfig, "kubeconfig", "", "existing: kubeconfig of the cluster (default: $KUBECONFIG, else ~/.kube/config)")
	f.StringVar(&t.Context, "context", "", "existing: context in the kubeconfig (default: the current one)")
	f.StringVar(&t.Image, "image", "", "existing: image of this program (default: the name that \"images save --ground existing\" uses)")
	f.IntVar(&t.Shards, "light-shards", 0, "existing: number of pods that run the light nodes (0: one for each 2000)")
	f.BoolVar(&t.AllowController, "beside-cloud-controller", false, "existing: allow a cluster that runs a CCM, if that CCM ignores unknown nodes")
	f.BoolVar(&t.AllowUnowned, "beside-unowned-nodes", false, "existing: allow a cluster with nodes without a providerID")
	// None can fail: the flags were added above.
	_ = cmd.MarkFlagFilename("kubeconfig")
	_ = cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return t.contexts(), cobra.ShellCompDirectiveNoFileComp
	})
	for _, none := range []string{"image", "light-shards"} {
		_ = cmd.RegisterFlagCompletionFunc(none, complete.None)
	}
}

// contexts are those that there are.
func (t *ExistingOptions) contexts() []string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.Kubeconfig
	config, err := rules.Load()
	if err != nil {
		return nil
	}
	var names []string
	for name := range config.Contexts {
		names = append(names, name)
	}
	return names
}

// maxShards is what the chart takes.
const maxShards = 256

func (t *ExistingOptions) check() error {
	if t.Shards < 0 || t.Shards > maxShards {
		return report.UsageError("--light-shards 2", "--light-shards %d: want a number from 0 to %d", t.Shards, maxShards)
	}
	if strings.ContainsAny(t.Image, " \t\n") {
		return report.UsageError("--image registry.example.net/vsphere-sandbox:v0.1.0", "--image %q: want REPOSITORY[:TAG][@DIGEST]", t.Image)
	}
	if t.Kubeconfig != "" {
		path, err := filepath.Abs(t.Kubeconfig)
		if err != nil {
			return err
		}
		t.Kubeconfig = path
	}
	return nil
}

// Target is where it is.
func (t *ExistingOptions) Target() existing.Target {
	return existing.Target{Kubeconfig: t.Kubeconfig, Context: t.Context}
}

// given are the flags by name; "" is what is their default.
func (t *ExistingOptions) given() map[string]string {
	flags := map[string]string{"--kubeconfig": t.Kubeconfig, "--context": t.Context, "--image": t.Image}
	if t.Shards != 0 {
		flags["--light-shards"] = strconv.Itoa(t.Shards)
	}
	if t.AllowController {
		flags["--beside-cloud-controller"] = "true"
	}
	if t.AllowUnowned {
		flags["--beside-unowned-nodes"] = "true"
	}
	return flags
}
