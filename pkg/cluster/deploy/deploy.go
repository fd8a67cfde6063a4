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

// Exec runs a command on a node of the cluster, as root, and returns what it wrote to stdout. An error has what it wrote to
// stderr.
type Exec func(ctx context.Context, node string, cmd ...string) ([]byte, error)

// Options of [New]. All are optional.
type Options struct {
	// Speed is how fast the cluster lives. Default: [pace.Default].
	Speed pace.Speed
	// Exec reaches into nodes, where a ground can do that. Without it a component can be restarted and killed as a pod, not
	// paused.
	Exec Exec
	// At keeps the cloud controller manager of the sandbox's own in one place: in a cluster that others use the control plane
	// is not the sandbox's, nor are all nodes there to run it. Optional.
	At *At
	// Instance is a label of all that is made, and nothing without it is removed: in a cluster that others use there may be
	// something left of another sandbox, or one that came after this. Optional.
	Instance string
}

// At is a node, and what it takes to run there.
type At struct {
	// Node is its name.
	Node string
	// Tolerations are added to those of the manifest.
	Tolerations []corev1.Toleration
	// Command takes the place of the image's entrypoint, where the image is not the one of manifests. Optional.
	Command []string
}

// Deployment is what the sandbox runs in a cluster as pods. Its methods may be called from any goroutine; those that change
// what runs wait for each other.
type Deployment struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	mapper  meta.ResettableRESTMapper
	rest    *rest.Config // nil: there are no connections to ports of pods
	speed   pace.Speed
	exec    Exec
	at      *At
	// instance is a label's value; "": there is no such label.
	instance string

	changing sync.Mutex // held while what runs is changed
	ccm      CCM        // as requested last
	csi      CSI        // as requested last
	tracker  *tracker
}

// New returns the deployment of a cluster, and knows at once what an earlier one left there. It asks the cluster nothing yet.
func New(c cluster.Cluster, o Options) (*Deployment, error) {
	config := c.REST()
	config.QPS = -1                           // the cluster's own limits are enough
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

// Close ends the watches. What was deployed stays.
func (d *Deployment) Close() { d.tracker.close() }
