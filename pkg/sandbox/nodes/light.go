package nodes

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/fleet"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// LightComponent is the program that stands for the kubelets of all light nodes.
const LightComponent = "light-nodes"

// lightGroup is the background group of the program.
const lightGroup = "light nodes"

// light is the VMs with light nodes. The program starts with the first of them.
type light struct {
	n     *Nodes
	fleet *fleet.Fleet

	mu      sync.Mutex
	byUUID  map[string]bool
	byPath  map[[2]string]bool // vcenter, inventory path: a VM that was created again has another UUID
	count   int
	begun   bool
	ended   bool
	program *child.Child
}

func (l *light) init(n *Nodes) { l.n, l.fleet = n, fleet.New() }

// assign sets which VMs they are: those of topologies, of which some may be nil.
func (l *light) assign(tops ...*topology.Topology) {
	byUUID, byPath := map[string]bool{}, map[[2]string]bool{}
	for _, t := range tops {
		if t == nil {
			continue
		}
		for _, r := range t.Nodes() {
			light := l.n.Ground().Light(r.VM)
			byUUID[strings.ToLower(r.VM.UUID)] = light
			byPath[[2]string{r.VCenter.Name, r.InventoryPath()}] = light
		}
	}
	count := 0
	for _, light := range byUUID {
		if light {
			count++
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byUUID, l.byPath, l.count = byUUID, byPath, count
}

func (l *light) has(v world.VM) bool {
	l.mu.Lock()
	light, known := l.byUUID[strings.ToLower(v.UUID)]
	if !known {
		light, known = l.byPath[[2]string{v.VCenter, v.Path}]
	}
	l.mu.Unlock()
	return light || !known && l.n.isLightClone(v)
}

// guest returns the guest of a VM. The caller may hold the lock of the nodes.
func (l *light) guest(m *member, o ground.LightOptions) node.Guest {
	if !o.InPods {
		l.begin(o.Args)
	}
	return l.fleet.Guest(m.vm.VCenter+"/"+m.vm.Ref.Value, fleet.Options{
		Boot: func(nm node.VM) (feed.Guest, error) {
			if o.First != nil {
				if err := o.First(); err != nil {
					return feed.Guest{}, err
				}
			}
			return boot(m, nm)
		},
		Notify: m.notifyLight,
	})
}

// boot returns what the guest of a VM is in this boot.
func boot(m *member, nm node.VM) (feed.Guest, error) {
	name, err := ground.NodeName(m.vm.Name, nm)
	if err != nil {
		return feed.Guest{}, err
	}
	_, role := m.Boot(name)
	image, kernel := node.OS(nm.GuestID)
	return feed.Guest{
		Name: name, UUID: nm.UUID, CPUs: nm.CPUs, MemoryBytes: nm.MemoryBytes, OSImage: image, Kernel: kernel,
		ControlPlane: role == topology.RoleControlPlane,
	}, nil
}

// begin starts the program once, in the background: it waits for nodes, and nodes for it.
func (l *light) begin(args []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun || l.ended {
		return
	}
	l.begun = true
	l.n.Background.Run(lightGroup, func(ctx context.Context) {
		if err := l.start(ctx, args); err != nil && ctx.Err() == nil {
			l.n.Logger.Error("light nodes", "err", err)
			l.n.Components.Notify(child.Change{Name: LightComponent, State: child.Exited, Err: err})
		}
	})
}

// start gives the program an account with no more rights than it needs, and starts it.
func (l *light) start(ctx context.Context, further []string) error {
	n := l.n
	for _, o := range fleet.Objects(metav1.NamespaceSystem) {
		if err := accounts.Create(ctx, n.client(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	account := accounts.Account{
		Namespace: metav1.NamespaceSystem, Name: fleet.Account, File: n.Dir.Path(LightComponent + ".token"), Group: lightGroup,
	}
	if err := n.Tokens.Project(ctx, account); err != nil {
		return err
	}
	addr, err := n.Proxies.Addr(LightComponent)
	if err != nil {
		return err
	}
	kubeconfig := n.Dir.Path(LightComponent + ".kubeconfig")
	if err := n.Cluster().Token(kubeconfig, addr, account.File); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	args := append([]string{
		LightComponent,
		"--feed=unix:" + n.Dir.SocketPath(),
		"--kubeconfig=" + kubeconfig,
		fmt.Sprintf("--speed=%v", float64(n.Speed)),
		"--lease-duration=" + fleet.LeaseDuration(l.count, n.Speed).String(),
	}, further...)
	l.program = child.Start(n.Components.Spec(child.Spec{Name: LightComponent, Args: args}), func(c child.Change) {
		l.fleet.Program(c)
		n.Components.Notify(c)
	})
	return nil
}

// stop ends the program and the fleet; the guests are stopped after that.
func (l *light) stop(ctx context.Context) error {
	l.mu.Lock()
	l.ended = true
	program := l.program
	l.mu.Unlock()
	err := l.n.Background.End(ctx, lightGroup)
	if program != nil {
		if stopped := program.Stop(ctx); err == nil {
			err = stopped
		}
	}
	l.fleet.Close()
	return err
}

// reset makes it as if no light node had ever started.
func (l *light) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fleet, l.begun, l.ended, l.program = fleet.New(), false, false, nil
}

// IsLight reports whether a VM has a light node.
func (n *Nodes) IsLight(v world.VM) bool { return n.light.has(v) }

// LightProgram returns the program of light nodes; nil while it does not run.
func (n *Nodes) LightProgram() *child.Child {
	n.light.mu.Lock()
	defer n.light.mu.Unlock()
	return n.light.program
}

// LightStarted reports that light nodes run in pods that the ground has.
func (n *Nodes) LightStarted() {
	n.light.fleet.Program(child.Change{Name: LightComponent, State: child.Started, PID: os.Getpid()})
}

// Feed serves the states of light nodes to their program: GET /v1/machines.
func (n *Nodes) Feed() http.Handler { return n.light.fleet.Feed() }
