package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// Timeout is how long an API server may take to answer a request.
const Timeout = 30 * time.Second

// Cluster is the API of a cluster that a kubeconfig names.
type Cluster struct {
	Name   string // of the context
	Host   string // the address of the API server
	Client kubernetes.Interface
}

// Open returns the cluster of a context in a kubeconfig; if one of them is empty, kubectl's rules find it. change, which may be
// nil, changes the configuration of the client. It sends no request. Errors are of package report.
func Open(file, name, userAgent string, change func(*rest.Config)) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, invalid(err)
	}
	if name == "" {
		raw, err := loader.RawConfig()
		if err != nil {
			return nil, invalid(err)
		}
		name = raw.CurrentContext
	}
	config.UserAgent, config.Timeout = userAgent, Timeout
	if change != nil {
		change(config)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, invalid(err)
	}
	return &Cluster{Name: name, Host: config.Host, Client: client}, nil
}

func invalid(err error) error {
	e := &report.Error{Code: "kubeconfig-invalid", Message: fmt.Sprintf("kubeconfig: %v", err), Exit: report.Usage, Try: "kubectl config get-contexts"}
	if errors.Is(err, fs.ErrNotExist) {
		e.Try = "--kubeconfig FILE"
	}
	return e
}

// Explain returns the error of listing nodes with what to try, or that of ctx if it has ended. cluster names the cluster, and exit
// is the exit status.
func Explain(ctx context.Context, cluster string, exit int, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &report.Error{Code: "cluster-unreachable", Message: fmt.Sprintf("cluster %s: list nodes: %v", cluster, err), Try: "kubectl cluster-info", Exit: exit}
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		e.Code, e.Try = "cluster-forbidden", "name a context whose user may list nodes: --context NAME"
	}
	return e
}
