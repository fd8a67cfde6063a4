package sandbox

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/incluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
)

// Cluster chooses the Kubernetes cluster of a sandbox, by the options of one ground. The zero value is an embedded one, in
// processes.
type Cluster struct {
	// Kubernetes is the Kubernetes program of an embedded cluster.
	Kubernetes Kubernetes
	// Kind has kind make it.
	Kind *kind.Options
	// InCluster is the pod that this process is: then the cluster is the one that it is a pod of.
	InCluster *incluster.Options
	// Existing is one that was there before, with nodes that are VMs of [Options.Real]. This process watches it, and has a cloud
	// controller manager work on it if [CCM.None] is not set.
	Existing *existing.Options
}

// askedVersion is the Kubernetes release of a cluster that the sandbox did not choose: its API server is asked once. The zero
// value has not asked yet. It may be used from any goroutine.
type askedVersion struct {
	mu    sync.Mutex
	value string
}

// of returns the release; client is nil as long as there is no cluster, and then it is what the options say.
func (v *askedVersion) of(c *Cluster, client kubernetes.Interface) string {
	if c.Embedded() || client == nil {
		return c.Version()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.value == "" {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if info, err := discovery.ToServerVersionInterfaceWithContext(client.Discovery()).ServerVersionWithContext(ctx); err == nil {
			v.value = info.GitVersion
		}
	}
	return cmp.Or(v.value, c.Version())
}

// Embedded reports whether the sandbox runs the cluster's processes itself.
func (c *Cluster) Embedded() bool { return c.Kind == nil && c.InCluster == nil && c.Existing == nil }

// Version returns the Kubernetes release of the cluster, as far as the options decide it.
func (c *Cluster) Version() string {
	if c.Kind != nil {
		return release.Kind()
	}
	return cmp.Or(c.Kubernetes.Version, build.Kubernetes())
}

// Kubernetes is a Kubernetes program: the control plane and kubelets of one release.
type Kubernetes struct {
	// Path is the program's file. Empty means this program: a test binary that stands in.
	Path string
	// Version is the release, such as v1.37.2. Empty means the default one.
	Version string
	// Kubelets are the programs of the nodes whose kubelet is of another release: paths, by the releases that VMs of the topology
	// name.
	Kubelets map[string]string
	// Knobs are the user's changes of the components.
	Knobs contract.Knobs
}
