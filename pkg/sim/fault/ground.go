package fault

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"

	vmware "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Need is something that only some grounds offer.
type Need string

// The needs of kinds. A ground meets a need when the field in the comment is not nil.
const (
	Simulator Need = "simulator" // VCenter.Sim: the vCenter is simulated
	Gated     Need = "gate"      // VCenter.Front: a gate is in front of its API
	Kubelets  Need = "kubelets"  // Ground.Processes: the nodes are processes of the sandbox
	Children  Need = "children"  // Ground.Processes: the CCM and the control plane are processes of the sandbox
	Clustered Need = "cluster"   // Ground.Cluster: a Kubernetes cluster exists
	// Supervised: Ground.Supervisor: the cluster is a guest cluster of a Supervisor.
	Supervised Need = "supervisor"
	Network    Need = "nsx" // Ground.NSX: an NSX Manager is simulated
)

// Ground is what faults act on. Nil fields are what it lacks. It is safe for concurrent use.
type Ground struct {
	// Items lists the objects of a kind that exist now, in a stable order.
	Items    func(ctx context.Context, kind Object) ([]Item, error)
	VCenters []Endpoint
	// NSX returns the NSX Manager, or nil.
	NSX     func() *nsx.Manager
	Cluster Kubernetes
	// Host returns the host or address at which the clients configured in the cluster reach a vCenter, by its name; the keys of
	// the credentials Secret begin with it. Nil: the address on which the vCenter listens.
	Host func(vcenter string) string
	// Processes are the processes of the sandbox.
	Processes Processes
	// Supervisor is that of the cluster.
	Supervisor Supervisor
	// Categories are the tag categories of regions and zones.
	Categories topology.Categories
	Speed      pace.Speed
	Events     *event.Log
}

// VCenter returns the vCenter with that name, or nil.
func (g *Ground) VCenter(name string) *Endpoint {
	for i := range g.VCenters {
		if g.VCenters[i].Name == name {
			return &g.VCenters[i]
		}
	}
	return nil
}

// ClientAddress returns the address at which the clients configured in the cluster reach a vCenter, by its name or the host on which it
// listens. It returns any other host unchanged.
func (g *Ground) ClientAddress(host string) string {
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

// Endpoint is one vCenter, accessed as its administrator and past its gate.
type Endpoint struct {
	Name string
	// SOAP and REST call f with a session, and return an error of f unchanged.
	SOAP func(ctx context.Context, f func(context.Context, *vim25.Client) error) error
	REST func(ctx context.Context, f func(context.Context, *rest.Client) error) error
	// Sim offers what no API does; nil for a real vCenter.
	Sim *sim.VCenter
	// Front is where clients reach it. Nil: clients reach the vCenter directly, and faults cannot touch their calls.
	Front Front
}

// Front is the client side of a simulated or real vCenter: a gate and a certificate.
type Front interface {
	// Name is the name of the vCenter, Host the address on which Front listens.
	Name() string
	Host() string
	Gate() *gate.Gate
	// NewCertificate issues a certificate like the first one, changed as wished. The caller installs it in the gate.
	NewCertificate(sim.CertificateOptions) (tls.Certificate, error)
	FirstCertificate() tls.Certificate
}

// Kubernetes is the cluster that faults act on.
type Kubernetes interface {
	// Client returns the administrator's client.
	Client() kubernetes.Interface
	// Credentials returns the Secret with the vCenters' credentials, Config the ConfigMap with vsphere.conf.
	Credentials() (namespace, name string)
	Config() (namespace, name string)
	// Account returns the ServiceAccount of a component ("ccm").
	Account(component string) (namespace, name string, err error)
}

// Processes controls the processes of the sandbox by component: "ccm", "control-plane", "node/NAME". Its methods return an error
// for an unknown component.
type Processes interface {
	// Running returns nil if a process of the component runs, or the reason why none does: the component is unknown, its VM is
	// off or suspended, or it crashed and waits for its restart.
	Running(component string) error
	// Kill ends a process with SIGKILL; its supervisor starts another one.
	Kill(ctx context.Context, component string) error
	// Pause stops a process (SIGSTOP), Resume continues it. Repeating either is harmless.
	Pause(ctx context.Context, component string) error
	Resume(ctx context.Context, component string) error
	// Cut breaks the component's connection to the API server: it resets connections and refuses new ones, or, if silent, drops
	// packets. Mend restores it. Repeating either is harmless.
	Cut(component string, silent bool) error
	Restore(component string) error
	// Restart stops the process gracefully and starts another one.
	Restart(ctx context.Context, component string) error
	// Replicas returns the number of cloud controller managers; more than one elect a leader.
	Replicas(component string) int
	Scale(ctx context.Context, component string, replicas int) error
}

// Supervisor is the Supervisor that faults act on.
type Supervisor interface {
	// Gate stands before its API; nil while it does not run.
	Gate() *gate.Gate
	// SetOperator stops its controllers or lets them continue, SetPoolEmpty takes the free addresses of its load balancer.
	SetOperator(running bool)
	SetPoolEmpty(empty bool)
	// Forbid takes the rights of guest clusters away, Permit gives them back. Repeating either is harmless.
	Forbid(ctx context.Context) error
	Permit(ctx context.Context) error
	// ExpireTokens makes the tokens of guest clusters invalid, RenewTokens ends that. RotateTokens writes new ones.
	ExpireTokens(ctx context.Context) error
	RenewTokens(ctx context.Context) error
	RotateTokens(ctx context.Context) error
	// HasMachine reports whether a VM has a VirtualMachine, by the VM's name. DeleteMachine deletes it.
	HasMachine(ctx context.Context, name string) (bool, error)
	DeleteMachine(ctx context.Context, name string) error
}

// Has reports whether the ground meets a need. Whether a vCenter is simulated is checked later, for each target.
func (g *Ground) Has(n Need) bool {
	switch n {
	case Simulator:
		return slices.ContainsFunc(g.VCenters, func(e Endpoint) bool { return e.Sim != nil })
	case Gated:
		return slices.ContainsFunc(g.VCenters, func(e Endpoint) bool { return e.Front != nil })
	case Kubelets, Children:
		return g.Processes != nil
	case Clustered:
		return g.Cluster != nil
	case Supervised:
		return g.Supervisor != nil
	case Network:
		return g.NSX != nil && g.NSX() != nil
	}
	return false
}

// String describes the need.
func (n Need) String() string {
	switch n {
	case Simulator:
		return "a simulated vCenter"
	case Gated:
		return "a gate in front of the vCenter"
	case Kubelets:
		return "nodes that are processes of the sandbox"
	case Children:
		return "a control plane and a cloud controller manager that are processes of the sandbox"
	case Clustered:
		return "a Kubernetes cluster"
	case Supervised:
		return "a Supervisor"
	case Network:
		return "an NSX Manager (spec.nsx of the topology)"
	}
	return string(n)
}

func (k *Kind) needs(any ...Need) bool {
	return slices.ContainsFunc(k.Needs, func(n Need) bool { return slices.Contains(any, n) })
}

// lacks returns the need of a kind that a vCenter does not meet; false if it meets all.
func (e *Endpoint) lacks(k *Kind) (Need, bool) {
	switch {
	case e.Sim == nil && k.needs(Simulator):
		return Simulator, true
	case e.Front == nil && k.needs(Gated):
		return Gated, true
	}
	return "", false
}

func lacks(k *Kind, n Need) error {
	return &Refusal{Code: "unsupported", Message: fmt.Sprintf("%s takes %s, which there is not here", k.Name, n)}
}

// Reach returns the endpoint of a connected vCenter, accessed as its administrator and past its gate. A SOAP call may last as
// long as a task; without a session its error wraps [vcenter.ErrNotConnected]. Simulated is nil for a real vCenter, and otherwise
// also the front.
func Reach(client *vcenter.Client, simulated *sim.VCenter) Endpoint {
	e := Endpoint{
		Name: client.Name(),
		Sim:  simulated,
		SOAP: func(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
			session, err := client.Session()
			if err != nil {
				return err
			}
			err = f(ctx, session.Vim)
			if !vmware.Is(err, &types.NotAuthenticated{}) {
				return err
			}
			// The session has expired unnoticed. Do opens another one.
			return own(func(keep func(error) error) error {
				return client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error { return keep(f(ctx, s.Vim)) })
			})
		},
		REST: func(ctx context.Context, f func(context.Context, *rest.Client) error) error {
			return own(func(keep func(error) error) error {
				return client.DoREST(ctx, func(ctx context.Context, c *rest.Client) error { return keep(f(ctx, c)) })
			})
		},
	}
	if simulated != nil {
		e.Front = simulated
	}
	return e
}

// own returns the last error passed to keep, unchanged, or else the error of do.
func own(do func(keep func(error) error) error) error {
	var last error
	err := do(func(err error) error {
		last = err
		return err
	})
	if err != nil && last != nil {
		return last
	}
	return err
}
