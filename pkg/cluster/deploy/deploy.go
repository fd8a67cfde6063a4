package deploy

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
)

// Exec runs a command as root on a node of the cluster, and returns its stdout. An error includes its stderr.
type Exec func(ctx context.Context, node string, cmd ...string) ([]byte, error)

// Options of [New]. All are optional.
type Options struct {
	// Speed is the pace of the cluster. Default: [pace.Default].
	Speed pace.Speed
	// Exec runs commands in nodes, where a ground can. Without it a component can be restarted and killed as a pod, but
	// not paused.
	Exec Exec
	// At keeps the sandbox's own cloud controller manager on one node: in a shared cluster the control plane is not the
	// sandbox's, nor are all nodes. Optional.
	At *Placement
	// Instance is an additional label of all objects, and nothing without it is removed: in a shared cluster there may be
	// objects of an earlier or later sandbox. Optional.
	Instance string
}

// Placement is a node, and what its pods need.
type Placement struct {
	// Node is its name.
	Node string
	// Tolerations are added to those of the manifest.
	Tolerations []corev1.Toleration
	// Command replaces the image's entrypoint, if the image is not the one of the manifests. Optional.
	Command []string
}

// Deployment is what the sandbox runs in a cluster as pods. Its methods may be called from any goroutine; changes are
// serialized.
type Deployment struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	mapper  meta.ResettableRESTMapper
	rest    *rest.Config // nil: no port-forwards
	speed   pace.Speed
	exec    Exec
	at      *Placement
	// instance is a label's value; "" for no label.
	instance string

	changing sync.Mutex // serializes changes
	ccm      CCM        // as requested last
	csi      CSI        // as requested last
	tracker  *tracker
}

// New returns the deployment of a cluster, including what an earlier one left there. It makes no requests.
func New(c cluster.Cluster, o Options) (*Deployment, error) {
	config := c.REST()
	config.QPS = -1                           // the API server's limits suffice
	config.WarningHandler = rest.NoWarnings{} // a warning about another project's manifest does not belong on stderr
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	d := newDeployment(client, dyn, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco)), o)
	d.rest = config
	return d, nil
}

func newDeployment(client kubernetes.Interface, dyn dynamic.Interface, mapper meta.ResettableRESTMapper, o Options) *Deployment {
	if o.Speed == 0 {
		o.Speed = pace.Default
	}
	return &Deployment{
		client: client, dynamic: dyn, mapper: mapper, speed: o.Speed, exec: o.Exec, at: o.At, instance: o.Instance,
		tracker: newTracker(client),
	}
}

// Close ends the watches. Deployed objects stay.
func (d *Deployment) Close() { d.tracker.close() }
