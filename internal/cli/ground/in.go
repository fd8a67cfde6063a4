package ground

import (
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/incluster"
)

// In is what the chart tells "up" in its pod. A person has no use for it.
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
		return nil, report.UsageError("vsphere-sandbox up --cluster existing", "--cluster pod: this is no pod of the sandbox's chart: POD_IP: %v", err)
	}
	return &incluster.Options{
		Name: getenv("POD_NAME"), Namespace: getenv("POD_NAMESPACE"), Node: getenv("NODE_NAME"), IP: ip,
		ControlPort: i.ControlPort, FeedPort: i.FeedPort, FeedDir: i.FeedDir,
	}, nil
}
