package kubectl

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdEtcdctl returns the command; runF, when not nil, runs in its place.
func NewCmdEtcdctl(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := newOptions(d)
	runF = command.Or(runF, runEtcdctl)
	return &cobra.Command{
		Use:   "etcdctl [ARGUMENT]...",
		Short: "Run etcdctl against the etcd of a sandbox",
		Long: `Run etcdctl of the sandbox's etcd release with its address and certificates.

All arguments are passed to etcdctl, so --name must come before the word
etcdctl. The exit status is that of etcdctl. Only an embedded cluster has an
etcd that can be reached.`,
		Example: `  vsphere-sandbox etcdctl get /registry/minions --prefix --keys-only
  vsphere-sandbox etcdctl endpoint status -w table`,
		DisableFlagParsing: true,
		ValidArgsFunction:  cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			return runF(cmd.Context(), o)
		},
	}
}

func runEtcdctl(ctx context.Context, o *options) error {
	if err := o.nameFirst("etcdctl"); err != nil {
		return err
	}
	needed := len(o.args) > 0 && o.args[0] != "help" && o.args[0] != "version" && !slices.Contains(o.args, "-h") && !slices.Contains(o.args, "--help")
	s, err := o.status(ctx)
	if err == nil && needed {
		err = o.aimEtcd(s)
	}
	if err != nil && needed {
		return err
	}
	program, err := o.program(ctx, o.streams, s)
	if err != nil {
		return err
	}
	if o.release != nil {
		o.release()
	}
	return o.exec(program, append([]string{contract.EtcdctlCommand}, o.args...)...)
}

// aimEtcd points this process's environment at the sandbox's etcd.
func (o *options) aimEtcd(s api.Status) error {
	if s.Ground.Cluster != api.ClusterEmbedded {
		return &report.Error{Code: "unavailable", Message: "etcdctl is for an embedded cluster: sandbox \"" + s.Name + "\" has none", Try: command.Program + " kubectl"}
	}
	endpoint, err := os.ReadFile(embedded.EtcdEndpoint(s.Dir))
	if err != nil {
		return &report.Error{Code: "unavailable", Message: "etcd of sandbox \"" + s.Name + "\" does not serve yet", Try: command.Program + " wait --for=ready"}
	}
	pki := func(name string) string { return filepath.Join(s.Dir, "pki", name) }
	for name, value := range map[string]string{
		"ETCDCTL_ENDPOINTS": string(endpoint), "ETCDCTL_CACERT": pki("etcd-ca.crt"),
		"ETCDCTL_CERT": pki("etcd-client.crt"), "ETCDCTL_KEY": pki("etcd-client.key"),
	} {
		if err := o.setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}
