package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
)

// clusterAnswers is how long an API server may take.
const clusterAnswers = 30 * time.Second

// cluster is one to look at.
type cluster struct {
	name   string
	client kubernetes.Interface
}

// openCluster is that of a context in a kubeconfig; where either is empty, kubectl's rules find it. Nothing but reads gets
// through to it.
func openCluster(file, name string) (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	if name == "" {
		raw, err := loader.RawConfig()
		if err != nil {
			return nil, kubeconfigError(err)
		}
		name = raw.CurrentContext
	}
	config.UserAgent, config.Timeout = vcenterconfig.UserAgent(), clusterAnswers
	config.WarningHandler = rest.NoWarnings{} // that an old API is asked for is the point of it
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, kubeconfigError(err)
	}
	return &cluster{name, client}, nil
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

func kubeconfigError(err error) error {
	e := &report.Error{Code: "kubeconfig-invalid", Message: fmt.Sprintf("kubeconfig: %v", err), Exit: report.Usage, Try: "kubectl config get-contexts"}
	if errors.Is(err, fs.ErrNotExist) {
		e.Try = "--kubeconfig FILE"
	}
	return e
}

// explain returns the error with the reason that a cluster cannot be read.
func (c *cluster) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &report.Error{Code: "cluster-unreachable", Message: fmt.Sprintf("cluster %s: list nodes: %v", c.name, err), Try: "kubectl cluster-info", Exit: report.Prerequisite}
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		e.Code, e.Try = "cluster-forbidden", "name a context whose user may list nodes: --context NAME"
	}
	return e
}
