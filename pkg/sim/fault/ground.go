package fault

import (
	"context"
	"crypto/tls"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Need is something that not every ground has.
type Need string

// What kinds may need. A ground has a need when what it stands for is not nil.
const (
	Simulator Need = "simulator" // VCenter.Sim: the vCenter is a simulated one
	Gated     Need = "gate"      // VCenter.Front: there is a gate in front of its API
	Kubelets  Need = "kubelets"  // Ground.Processes: the nodes are processes of the sandbox
	Children  Need = "children"  // Ground.Processes: CCM and control plane are processes of the sandbox
	Clustered Need = "cluster"   // Ground.Cluster: there is a Kubernetes cluster
)

// Ground is what faults happen to. Fields that are nil are what it lacks. All that is in it may be used from any
// goroutine.
type Ground struct {
	// Items lists what there is of a kind now, in a stable order.
	Items func(ctx context.Context, kind Object) ([]Item, error)
	// VCenters are the vCenters, in topology order.
	VCenters []Endpoint
	// Cluster is the Kubernetes cluster.
	Cluster Kubernetes
	// Host is by what host or address the clients that are configured in the cluster reach a vCenter, by its name: the keys of
	// the Secret with the credentials begin with it. Nil: where the vCenter listens.
	Host func(vcenter string) string
	// Processes are those of the sandbox.
	Processes Processes
	// Categories are the tag categories of regions and zones.
	Categories topology.Categories
	Speed      pace.Speed
	Events     *event.Log
}

// VCenter finds a vCenter by name; nil when there is none.
func (g *Ground) VCenter(name string) *Endpoint {
	for i := range g.VCenters {
		if g.VCenters[i].Name == name {
			return &g.VCenters[i]
		}
	}
	return nil
}

// Reached is by what the clients that are configured in the cluster reach the vCenter of that name, or that listens at that
// host; any other host is reached by itself.
func (g *Ground) Reached(host string) string {
	for _, vc := range g.VCenters {
		if g.Host != nil && (vc.Name == host || vc.Front != nil && vc.Front.Host() == host) {
			return g.Host(vc.Name)
		}
		if vc.Name == host && vc.Front != nil {
			return vc.Front.Host()
		}
	}
	return host
}

// Endpoint is one vCenter, reached as its administrator and past its gate.
type Endpoint struct {
	Name string
	// SOAP and REST call f with a session. An error of f is returned as it is.
	SOAP func(ctx context.Context, f func(context.Context, *vim25.Client) error) error
	REST func(ctx context.Context, f func(context.Context, *rest.Client) error) error
	// Sim is what no client can ask for; nil for a real vCenter.
	Sim *sim.VCenter
	// Front is where clients reach it. Nil: at the vCenter itself, where nothing can be done to their calls.
	Front Front
}

// Front is what clients of a vCenter meet, of a simulated or a real one: a gate, and a certificate of ours.
type Front interface {
	// Name is the vCenter's, Host where this listens.
	Name() string
	Host() string
	Gate() *gate.Gate
	// NewCertificate makes a certificate like the first, but for what is wished; the gate is to be told of it.
	NewCertificate(sim.CertificateWish) (tls.Certificate, error)
	FirstCertificate() tls.Certificate
}

// Kubernetes is the cluster.
type Kubernetes interface {
	// Client is the administrator's.
	Client() kubernetes.Interface
	// Credentials names the Secret with the vCenters' credentials, Config the ConfigMap with vsphere.conf.
	Credentials() (namespace, name string)
	Config() (namespace, name string)
	// Account names the ServiceAccount of a component ("ccm").
	Account(component string) (namespace, name string, err error)
}

// Processes are the processes of the sandbox by component: "ccm", "control-plane", "node/NAME". Errors say that there is
// none of that name, or why it cannot be done.
type Processes interface {
	// Running tells why a component has no process now to which something could be done: there is none of that name, its VM
	// is off or suspended, it has crashed and waits to be started again. Nil: it has one.
	Running(component string) error
	// Kill ends a process with SIGKILL; its supervisor starts another.
	Kill(component string) error
	// Pause stops it where it stands, Resume lets it go on. Both again are harmless.
	Pause(component string) error
	Resume(component string) error
	// Cut takes the component's way to the API server away: connections are reset and none is made, or, silent, packets
	// vanish. Mend gives it back. Both again are harmless.
	Cut(component string, silent bool) error
	Mend(component string) error
	// Restart ends it properly and starts another.
	Restart(ctx context.Context, component string) error
	// Replicas is how many cloud controller managers run; more than one elect a leader.
	Replicas(component string) int
	Scale(ctx context.Context, component string, replicas int) error
}
