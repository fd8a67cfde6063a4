package children

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider"
)

// lightFlags are those of light-nodes.
type lightFlags struct {
	kubeconfig string
	shard      string
	labels     map[string]string
	taints     []string
	config     light.Config
}

// NewCmdLightNodes returns the command that replaces the kubelets of light nodes. It runs as a child of a sandbox, which
// sends it the VMs over its control API's socket, and as a pod of a cluster, over HTTPS.
func NewCmdLightNodes() *cobra.Command {
	var f lightFlags
	cmd := &cobra.Command{
		Use:    "light-nodes --feed=unix:PATH|https://HOST [FLAGS]",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return live(cmd, f.run) },
	}
	to := cmd.Flags()
	to.StringVar(&f.config.Feed.URL, "feed", "", "source of VM states: unix:PATH or https://HOST[:PORT]")
	to.StringVar(&f.config.Feed.TokenFile, "feed-token-file", "", "file with the bearer token for it")
	to.StringVar(&f.config.Feed.CAFile, "feed-ca-file", "", "file with the authorities that its certificate is verified against")
	to.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: that of the pod)")
	to.StringVar(&f.shard, "shard", "", "I/N: the part I, from 0, of N of all machines")
	to.Float64Var((*float64)(&f.config.Speed), "speed", 1, "how many times faster than upstream's defaults statuses are reported")
	to.DurationVar(&f.config.LeaseDuration, "lease-duration", 0, "of nodes' Leases, renewed at a quarter of it (default: a kubelet's, at that speed)")
	to.BoolVar(&f.config.NodeIP, "node-ip", false, "nodes say their machine's first address themselves")
	to.StringToStringVar(&f.labels, "label", nil, "KEY=VALUE, a label of all nodes; may be repeated")
	to.StringArrayVar(&f.taints, "taint", nil, "KEY[=VALUE]:EFFECT, a taint of all nodes; may be repeated")
	_ = cmd.MarkFlagRequired("feed") // its only error is an unknown flag
	return cmd
}

func (f *lightFlags) run(ctx context.Context) (err error) {
	if f.config.Shard, err = feed.ParseShard(f.shard); err != nil {
		return err
	}
	f.config.Labels = f.labels
	for _, text := range f.taints {
		t, err := parseTaint(text)
		if err != nil {
			return err
		}
		f.config.Taints = append(f.config.Taints, t)
	}
	rc, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	rc.UserAgent = "light-nodes"
	rc.ContentType = "application/vnd.kubernetes.protobuf"
	rc.QPS = -1 // of each kind so many are on their way at once
	if f.config.Client, err = kubernetes.NewForConfig(rc); err != nil {
		return err
	}
	f.config.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	return light.Run(ctx, f.config)
}

// parseTaint reads KEY[=VALUE]:EFFECT, as kubectl has it.
func parseTaint(text string) (corev1.Taint, error) {
	what, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(what, "=")
	t := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	switch t.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		return t, fmt.Errorf("taint %q: want KEY[=VALUE]:EFFECT, with one of NoSchedule, PreferNoSchedule, NoExecute", text)
	}
	if bad := validation.IsQualifiedName(key); len(bad) > 0 {
		return t, fmt.Errorf("taint %q: %s", text, bad[0])
	}
	return t, nil
}

// live runs until the process is stopped, and never longer than the process that started it.
func live(cmd *cobra.Command, run func(context.Context) error) error {
	if err := child.Lifeline(os.Exit); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return run(ctx)
}

// NewCmdCCM returns the command that is the cloud controller manager. It takes the flags of any. Its version is that of this
// program, not of the Kubernetes libraries in it.
func NewCmdCCM() *cobra.Command {
	return &cobra.Command{
		Use:                "builtin-ccm [FLAGS]",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--version") {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "vsphere-cloud-controller-manager %s (Kubernetes %s)\n", build.Version(), build.Clients())
				return err
			}
			return live(cmd, func(ctx context.Context) error { return provider.Run(ctx, args) })
		},
	}
}

// NewCmdCSI returns the command that is the CSI driver's controller. It takes the flags of cmd/vsphere-csi.
func NewCmdCSI() *cobra.Command {
	return &cobra.Command{
		Use:                "csi-controller [FLAGS]",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return live(cmd, func(ctx context.Context) error { return csi.Run(ctx, build.Version(), args) })
		},
	}
}
