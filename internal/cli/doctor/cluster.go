package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/doctor"
)

// clusterAnswers is how long an API server may take.
const clusterAnswers = 30 * time.Second

// readNodes reads the nodes of a cluster, that of a context in a kubeconfig; where either is empty, kubectl's rules find it.
func readNodes(ctx context.Context, file, name string) (*doctor.Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	if name == "" {
		name = raw.CurrentContext
	}
	config.UserAgent, config.Timeout = vcenterconfig.UserAgent(), clusterAnswers
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, kubeconfigError(err)
	}
	c := &doctor.Cluster{Name: name}
	next := ""
	for {
		page, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 500, Continue: next})
		if err != nil {
			return nil, clusterError(ctx, config.Host, err)
		}
		for i := range page.Items {
			c.Nodes = append(c.Nodes, doctor.NodeOf(&page.Items[i]))
		}
		if next = page.Continue; next == "" {
			return c, nil
		}
	}
}

func kubeconfigError(err error) error {
	e := &report.Error{Code: "kubeconfig-invalid", Message: fmt.Sprintf("kubeconfig: %v", err), Exit: report.Usage, Try: "kubectl config get-contexts"}
	if errors.Is(err, fs.ErrNotExist) {
		e.Try = "--kubeconfig FILE"
	}
	return e
}

func clusterError(ctx context.Context, host string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &report.Error{Code: "cluster-unreachable", Message: fmt.Sprintf("cluster at %s: list nodes: %v", host, err), Try: "kubectl cluster-info"}
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		e.Code, e.Try = "cluster-forbidden", "name a context whose user may list nodes: --context NAME"
	}
	return e
}
