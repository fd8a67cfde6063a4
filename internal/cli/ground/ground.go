package ground

import (
	"net/netip"

	"github.com/spf13/cobra"

	source "github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
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

// Fits refuses flags of the cloud controller manager that would be ignored in this cluster. Both have been checked.
func (f *Flags) Fits(c *ccm.Flags) error {
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
	from, err := source.Parse(c.Source)
	if err != nil {
		return ccm.Explain(err)
	}
	if from.Kind() == source.File && c.Manifest == "" {
		return nil // the same
	}
	if len(c.Env) > 0 {
		return report.UsageError("--ccm-manifest FILE, with the environment in it", "--ccm-env: with --cluster kind it runs as pods, whose environment is in their manifest")
	}
	if from.Kind() == source.Builtin {
		return nil
	}
	if len(c.Args) > 0 || c.Replicas > 1 {
		return report.UsageError("--ccm-manifest FILE, with them in it",
			"--ccm-arg and --ccm-replicas: with --cluster kind %s is deployed with its own manifest, which is not changed", c.Source)
	}
	return nil
}
