package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/env"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubeconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	migration "github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// target is the flags that say which cluster and which vCenters are looked at.
type target struct {
	deps *command.Deps

	kubeconfig, context string
	real                vcenterconfig.Flags
	csi                 string
}

// bind adds the flags.
func (t *target) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` (default: the sandbox's, or with --context that of kubectl)")
	f.StringVar(&t.context, "context", "", "`CONTEXT` in the kubeconfig (default: the current one)")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("context", cobra.NoFileCompletions)
	t.real.Bind(cmd)
	f.StringVar(&t.csi, "csi-vcenter-config", "", "vsphere.conf `FILE` with the accounts of the CSI driver, if they differ")
}

// subject is what is looked at.
type subject struct {
	*kubeconfig.Cluster
	vcenters, csi *vcenter.Config
	selection     inventory.Selection
	// sandbox is the name of the sandbox that the cluster is; empty when it is none.
	sandbox string
}

// open finds the cluster and the vCenters. old is an old vsphere.conf, whose vCenters are taken where no flag names any; it
// may be none. force goes past what is not known of it.
func (t *target) open(ctx context.Context, old migration.Source, force bool) (*subject, error) {
	w := &subject{}
	var box *command.Target
	var err error
	if t.kubeconfig == "" && t.context == "" {
		if box, w.Cluster, err = t.sandboxed(ctx); err != nil {
			return nil, err
		}
		w.sandbox = box.Name
	} else if w.Cluster, err = openCluster(t.kubeconfig, t.context); err != nil {
		return nil, err
	}
	var chosen *vcenter.Config
	switch {
	case t.real.IsSet():
		real, err := t.real.Complete(t.deps.Getenv)
		if err != nil {
			return nil, err
		}
		chosen, w.selection = real.Config, real.Selection
	case old.Name != "":
		if chosen, err = w.ofOld(ctx, t.deps.Streams, old, force); err != nil {
			return nil, err
		}
	case box != nil:
		if chosen, err = ofSandbox(ctx, box); err != nil {
			return nil, err
		}
	default:
		return nil, report.UsageError("--vcenter-config FILE, or --vcenter-config env for govc's variables\nname the old vsphere.conf as FILE", "no vCenter is named")
	}
	w.vcenters = chosen
	if t.csi != "" {
		if w.csi, err = vcenter.LoadFile(t.csi); err != nil {
			return nil, &report.Error{Code: "vcenter-config-invalid", Message: "--csi-vcenter-config: " + err.Error(), Exit: report.Usage, Try: "vsphere-sandbox config validate " + t.csi}
		}
	}
	return w, nil
}

// sandboxed is the cluster of the sandbox.
func (t *target) sandboxed(ctx context.Context) (*command.Target, *kubeconfig.Cluster, error) {
	box, err := t.deps.Connect(ctx)
	if err != nil {
		if reported := (*report.Error)(nil); errors.As(err, &reported) && reported.Code == "no-sandbox" {
			try := reported.Try + "\n--context NAME, or --kubeconfig FILE, for a cluster that is no sandbox"
			return nil, nil, &report.Error{Code: reported.Code, Message: reported.Message, Try: try, Exit: reported.Exit}
		}
		return nil, nil, err
	}
	status, err := command.Ask(ctx, box, (*api.Client).Status)
	if err != nil {
		return nil, nil, err
	}
	if err := kubeconfig.Check(status); err != nil {
		return nil, nil, err
	}
	c, err := openCluster(status.Kubeconfig, "")
	if err != nil {
		return nil, nil, err
	}
	c.Name = box.Name
	return box, c, nil
}

// ofSandbox are the vCenters of a sandbox, with their administrators.
func ofSandbox(ctx context.Context, box *command.Target) (*vcenter.Config, error) {
	access, err := env.Access(ctx, box, "")
	if err != nil {
		return nil, err
	}
	all := &vcenter.Config{Region: vcenter.DefaultRegion, Zone: vcenter.DefaultZone}
	for _, a := range access {
		one, err := vcenter.FromEnvironment([]string{
			"GOVC_URL=" + a.URL, "GOVC_USERNAME=" + a.User, "GOVC_PASSWORD=" + a.Password, "GOVC_TLS_CA_CERTS=" + a.CAFile,
		})
		if err != nil {
			return nil, fmt.Errorf("vcenter %q of sandbox %q: %w", a.VCenter, box.Name, err)
		}
		one.VCenters[0].Name = a.VCenter
		all.VCenters = append(all.VCenters, one.VCenters...)
	}
	return all, nil
}

// ofOld are the vCenters of an old file, with the account in it or in the Secret of the cluster that it names.
func (w *subject) ofOld(ctx context.Context, streams *iostreams.Streams, old migration.Source, force bool) (*vcenter.Config, error) {
	name := old.Name
	read, err := meaning(old, force)
	if err != nil {
		return nil, &report.Error{
			Code: "cloud-config-invalid", Message: err.Error(), Exit: report.Usage, Try: tryMeaning(name, err) + "\n--vcenter-config FILE",
		}
	}
	progress := vcenterconfig.NewProgress(streams.Err, streams.ErrTTY())
	defer progress.Close()
	for i := range read.VCenters {
		vc := &read.VCenters[i]
		if vc.Password != "" || vc.Secret == (config.SecretRef{}) {
			continue
		}
		progress.Step(fmt.Sprintf("cluster %s: Secret %s/%s", w.Name, vc.Secret.Namespace, vc.Secret.Name))
		found, err := w.credentials(ctx, vc)
		if err != nil {
			progress.Close()
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, &report.Error{
				Code: "vcenter-credentials", Message: fmt.Sprintf("%s: vCenter %s: Secret %s/%s: %v", name, vc.Server, vc.Secret.Namespace, vc.Secret.Name, err),
				Try: "--vcenter-config FILE, a vsphere.conf with user and password\n--vcenter-config env for govc's variables", Exit: report.Prerequisite,
			}
		}
		vc.User, vc.Password, vc.Secret = found.User, found.Password, config.SecretRef{}
	}
	text, err := read.YAML()
	if err != nil {
		return nil, err
	}
	c, err := vcenter.Load(name, text)
	if err != nil {
		return nil, &report.Error{Code: "vcenter-config-invalid", Message: err.Error(), Exit: report.Usage, Try: "--vcenter-config FILE"}
	}
	return c, nil
}

// credentials reads a vCenter's from its Secret in the cluster.
func (w *subject) credentials(ctx context.Context, vc *config.VCenter) (config.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, kubeconfig.Timeout)
	defer cancel()
	secret, err := w.Client.CoreV1().Secrets(vc.Secret.Namespace).Get(ctx, vc.Secret.Name, metav1.GetOptions{})
	if err != nil {
		return config.Credentials{}, err
	}
	found, err := config.ParseSecret(vc.Secret.Namespace+"/"+vc.Secret.Name, secret.Data).For(vc.SecretKeys()...)
	if err == nil && found.Password == "" {
		err = errors.New("holds no user and password")
	}
	return found, err
}

// openCluster returns the cluster of a context in a kubeconfig; where either is empty, kubectl's rules find it. Nothing but reads
// gets through to it.
func openCluster(file, name string) (*kubeconfig.Cluster, error) {
	return kubeconfig.Open(file, name, vcenterconfig.UserAgent(), func(c *rest.Config) {
		c.WarningHandler = rest.NoWarnings{} // that an old API is asked for is the point of it
		c.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	})
}

// readOnly refuses all requests that may change something.
type readOnly struct{ next http.RoundTripper }

// RoundTrip sends a request that only reads.
func (r readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return nil, fmt.Errorf("%s %s: this command only reads: this is a mistake of ours", req.Method, req.URL.Path)
	}
	return r.next.RoundTrip(req)
}
