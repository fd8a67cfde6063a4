package kubelet

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubemark"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/trim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// trimAfter is when a kubelet has registered, and needs no more of what it started with.
const trimAfter = 5 * time.Second

// Run is a kubelet from registration until ctx ends. Like a machine that loses power it says no good-bye: what the
// cluster makes of its silence is what a sandbox is there to show.
func Run(ctx context.Context, cfg node.Config) error {
	flags, config, err := settings(cfg)
	if err != nil {
		return err
	}
	rc, err := clientcmd.BuildConfigFromFlags("", cfg.Kubeconfig)
	if err != nil {
		return err
	}
	rc.UserAgent = "kubelet/" + cfg.Name
	rc.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return err
	}
	// Heartbeats have a client of their own, so that nothing else delays them, as in cmd/kubelet/app/server.go.
	hb := *rc
	hb.Timeout = min(config.NodeStatusUpdateFrequency.Duration, leaseDuration(config))
	hb.QPS = -1
	heartbeat, err := kubernetes.NewForConfig(&hb)
	if err != nil {
		return err
	}
	runtime, images := newRuntime(ctx)
	hollow := kubemark.NewHollowKubelet(flags, config, client, heartbeat, newMachine(cfg), images, runtime, newContainers())
	server := &options.KubeletServer{KubeletFlags: *hollow.KubeletFlags, KubeletConfiguration: *hollow.KubeletConfiguration}
	if err := kubeletapp.RunKubelet(ctx, server, hollow.KubeletDeps); err != nil {
		return fmt.Errorf("kubelet %s: %w", cfg.Name, err)
	}
	select {
	case <-time.After(trimAfter):
		trim.AfterBoot()
		<-ctx.Done()
	case <-ctx.Done():
	}
	return nil
}
