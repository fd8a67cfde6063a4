package ground

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
)

// There selects an existing cluster, and how the sandbox uses it.
type There struct {
	Kubeconfig, Context string
	// Image is what its pods run; "" for what "images save --ground existing" calls this program's.
	Image string
	// Shards is how many pods share the nodes; 0 for as many as they need.
	Shards int
	// BesideController and BesideUnowned allow what they say.
	BesideController, BesideUnowned bool
}

func (t *There) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.Kubeconfig, "kubeconfig", "", "existing: kubeconfig of the cluster (default: $KUBECONFIG, else ~/.kube/config)")
	f.StringVar(&t.Context, "context", "", "existing: context in the kubeconfig (default: the current one)")
	f.StringVar(&t.Image, "image", "", "existing: image of this program (default: the name that \"images save --ground existing\" uses)")
	f.IntVar(&t.Shards, "light-shards", 0, "existing: number of pods that run the light nodes (0: one for each 2000)")
	f.BoolVar(&t.BesideController, "beside-cloud-controller", false, "existing: allow a cluster that runs a CCM, if that CCM ignores unknown nodes")
	f.BoolVar(&t.BesideUnowned, "beside-unowned-nodes", false, "existing: allow a cluster with nodes without a providerID")
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
func (t *There) contexts() []string {
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

func (t *There) check() error {
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
func (t *There) Target() existing.Target {
	return existing.Target{Kubeconfig: t.Kubeconfig, Context: t.Context}
}

// given are the flags by name; "" is what is their default.
func (t *There) given() map[string]string {
	flags := map[string]string{"--kubeconfig": t.Kubeconfig, "--context": t.Context, "--image": t.Image}
	if t.Shards != 0 {
		flags["--light-shards"] = strconv.Itoa(t.Shards)
	}
	if t.BesideController {
		flags["--beside-cloud-controller"] = "true"
	}
	if t.BesideUnowned {
		flags["--beside-unowned-nodes"] = "true"
	}
	return flags
}
