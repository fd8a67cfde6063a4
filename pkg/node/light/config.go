package light

import (
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// Config says which machines are made nodes of which cluster.
type Config struct {
	// Feed is where the machines are told of, Shard which of them are this program's.
	Feed  feed.Where
	Shard feed.Shard
	// Client reaches the cluster with the rights of fleet.Rights and fleet.LeaseRights. It is not to limit its own rate.
	Client kubernetes.Interface
	// Speed scales the kubelet's periods. 0: upstream's own.
	Speed pace.Speed
	// LeaseDuration is that of a node's Lease, renewed at a quarter of it. 0: a kubelet's. See fleet.LeaseDuration.
	LeaseDuration time.Duration
	// Labels and Taints are given to each Node beside a kubelet's own, when it is registered: by the labels somebody else's
	// cluster tells these Nodes from its own, and the taints keep its pods away. A Node of a machine's name that lacks one of
	// the labels is somebody else's, and neither it nor its Lease is touched.
	Labels map[string]string
	Taints []corev1.Taint
	// NodeIP has a Node say its machine's first address itself, as a kubelet with --node-ip does, for the cloud controller
	// manager to check.
	NodeIP bool
	// Logger is told what goes wrong. nil: nobody.
	Logger *slog.Logger
}

func (c Config) complete() (Config, error) {
	if c.Speed == 0 {
		c.Speed = 1
	}
	if err := c.Speed.Validate(); err != nil {
		return c, err
	}
	if c.LeaseDuration == 0 {
		c.LeaseDuration = c.Speed.Of(pace.NodeLease)
	}
	if c.LeaseDuration < time.Second || c.LeaseDuration%time.Second != 0 {
		return c, fmt.Errorf("lease duration %s: must be whole seconds, at least one", c.LeaseDuration)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
