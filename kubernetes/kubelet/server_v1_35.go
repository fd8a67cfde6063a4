//go:build !before_v1_35

package kubelet

import (
	"context"

	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/server"
	"k8s.io/kubernetes/pkg/kubelet/server/stats"
)

// newServer returns the handler of a kubelet. The kubelet's own analyzer of volumes is private: this one is a second.
func newServer(ctx context.Context, k *kubelet.Kubelet, auth server.AuthInterface, c *kubeletconfig.KubeletConfiguration) server.Server {
	volumes := stats.NewResourceAnalyzer(ctx, k, c.VolumeStatsAggPeriod.Duration, &record.FakeRecorder{})
	volumes.Start(ctx)
	return server.NewServer(ctx, k, volumes, nil, nil, auth, c)
}
