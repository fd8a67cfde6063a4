package nodetopology

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Topology knows where nodes are: pkg/csi/nodes.Nodes.
type Topology interface {
	// Segment returns the topology of the VM with a BIOS UUID; node is what it is called in errors. An error that wraps
	// volume.ErrUnavailable says that it cannot be told at the moment.
	Segment(ctx context.Context, node, uuid string) (volume.Segment, error)
	// Listen has f called when an answer may have changed; f does not block.
	Listen(f func(nodes []string)) (stop func())
}

// Labels knows the labels of nodes: pkg/csi/nodes.Informer.
type Labels interface {
	// Labels returns those of a node, and whether there is such a node.
	Labels(node string) (map[string]string, bool)
	// ListenNode has f called when a node's may have changed; f does not block.
	ListenNode(f func(node string)) (stop func())
}

// Config is what a [Controller] works with. The zero value of what is not called mandatory is a good one.
type Config struct {
	// Dynamic reads and writes CSINodeTopology objects: get, list, watch, update. Mandatory.
	Dynamic dynamic.Interface
	// Client patches nodes; Labels knows their labels. Without either, labels of nodes are left alone.
	Client kubernetes.Interface
	Labels Labels
	// Topology has the answers. Mandatory.
	Topology Topology

	// Events are told of answers and of changes, as events of the object and the Node.
	Events record.EventRecorder
	// Grace is for how long a topology that was told stays told when it has gone missing: tags are moved by taking them
	// away first. It is also how long nothing is said while a vCenter is out of reach. 3 s when zero.
	Grace time.Duration
	// RetryMin and RetryMax bound the pauses, doubling, between attempts for a node that there is no answer for when
	// nothing changes; 1 s and 1 min when zero.
	RetryMin, RetryMax time.Duration
	// Workers is how many nodes are looked after at once; 4 when zero.
	Workers int
	// Logger receives answers; none when nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Grace = cmp.Or(c.Grace, 3*time.Second)
	c.RetryMin = cmp.Or(c.RetryMin, time.Second)
	c.RetryMax = cmp.Or(c.RetryMax, time.Minute)
	c.Workers = cmp.Or(c.Workers, 4)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
