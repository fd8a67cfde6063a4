package children

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded/controlplane"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/kubelet"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider"
)

// NewCmdControlPlane returns the command that is the control plane.
func NewCmdControlPlane() *cobra.Command {
	return newCmd("control-plane", func(ctx context.Context, path string) error {
		cfg, err := embedded.ReadConfig(path)
		if err != nil {
			return err
		}
		return controlplane.Run(ctx, cfg)
	})
}

// NewCmdNode returns the command that is the kubelet of one VM.
func NewCmdNode() *cobra.Command {
	return newCmd("node", func(ctx context.Context, path string) error {
		cfg, err := node.ReadConfig(path)
		if err != nil {
			return err
		}
		return kubelet.Run(ctx, cfg)
	})
}

// newCmd returns a command that lives until it is told to end, and never longer than the process that started it.
func newCmd(name string, run func(ctx context.Context, config string) error) *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:    name + " --config=FILE",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return live(cmd, func(ctx context.Context) error { return run(ctx, config) })
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "file that the sandbox wrote")
	_ = cmd.MarkFlagRequired("config") // its only error is an unknown flag
	return cmd
}

// live runs until the process is told to end, and never longer than the process that started it.
func live(cmd *cobra.Command, run func(context.Context) error) error {
	if err := child.Lifeline(os.Exit); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return run(ctx)
}

// NewCmdCCM returns the command that is the cloud controller manager. It takes the flags of any.
func NewCmdCCM() *cobra.Command {
	return &cobra.Command{
		Use:                "builtin-ccm [FLAGS]",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
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
			return live(cmd, func(ctx context.Context) error { return csi.Run(ctx, args) })
		},
	}
}
