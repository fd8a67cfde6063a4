package controlplane

import (
	"context"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
)

// waitReady waits until the API server reports itself ready, all of its post-start hooks included. There is nothing to
// watch before it serves, so it is asked, often and cheaply.
func waitReady(ctx context.Context, cfg embedded.Config) error {
	rc, err := clientcmd.BuildConfigFromFlags("", filepath.Join(cfg.PKI, "controller-manager.kubeconfig"))
	if err != nil {
		return err
	}
	rc.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
