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

// Topology returns the topology of nodes; pkg/csi/nodes.Nodes implements it.
type Topology interface {
	// Segment returns the topology of the VM with a BIOS UUID; node is its name in errors. An error that wraps
	// volume.ErrUnavailable means that it is unknown at the moment.
	Segment(ctx context.Context, node, uuid string) (volume.Segment, error)
	// Listen calls f when a topology may have changed; f must not block.
	Listen(f func(nodes []string)) (stop func())
}

// Labels returns the labels of nodes; pkg/csi/nodes.Informer implements it.
type Labels interface {
	// Labels returns the labels of a node, and whether the node exists.
	Labels(node string) (map[string]string, bool)
	// ListenNode calls f when the labels of a node may have changed; f must not block.
	ListenNode(f func(node string)) (stop func())
}

// Config is the configuration of a [Controller]. All fields are optional unless they are called mandatory.
type Config struct {
	// Dynamic reads and writes CSINodeTopology objects: get, list, watch, update. Mandatory.
	Dynamic dynamic.Interface
	// Client patches nodes, and Labels reads their labels. Without either, labels of nodes are not updated.
	Client kubernetes.Interface
	Labels Labels
	// Topology returns the topology. Mandatory.
	Topology Topology

	// Events records answers and changes on the object and the Node.
	Events record.EventRecorder
	// Grace is how long a missing topology keeps its last value, because tags are moved by detaching them first. For the same
	// time no error is written while a vCenter is unreachable. 3 s when zero.
	Grace time.Duration
	// RetryMin and RetryMax bound the doubling pauses between attempts for a node without a topology when nothing changes; 1 s
	// and 1 min when zero.
	RetryMin, RetryMax time.Duration
	// Workers is the number of concurrent workers; 4 when zero.
	Workers int
	// Logger receives answers; discarded when nil.
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
