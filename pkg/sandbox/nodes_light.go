package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/fleet"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// lightComponent is the program that stands for the kubelets of all light nodes.
const lightComponent = "light-nodes"

// lightGroup is the background group of what it needs.
const lightGroup = "light nodes"

// lightNodes are the VMs whose nodes are light. The program is started with the first of them.
type lightNodes struct {
	s     *Sandbox
	fleet *fleet.Fleet

	mu      sync.Mutex
	byUUID  map[string]bool
	byPath  map[[2]string]bool // vcenter, inventory path: a VM that was made anew has another UUID
	nodes   int                // how many there are to be
	begun   bool
	ended   bool
	program *child.Child
}

func newLightNodes(s *Sandbox) *lightNodes { return &lightNodes{s: s, fleet: fleet.New()} }

// assign says which VMs they are: those of topologies, of which some may be nil.
func (l *lightNodes) assign(tops ...*topology.Topology) {
	byUUID, byPath := map[string]bool{}, map[[2]string]bool{}
	for _, t := range tops {
		if t == nil {
			continue
		}
		for _, r := range t.Nodes() {
			light := l.s.ground.Light(r.VM)
			byUUID[strings.ToLower(r.VM.UUID)] = light
			byPath[[2]string{r.VCenter.Name, r.InventoryPath()}] = light
		}
	}
	nodes := 0
	for _, light := range byUUID {
		if light {
			nodes++
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byUUID, l.byPath, l.nodes = byUUID, byPath, nodes
}

// has tells whether a VM's node is to be a light one.
func (l *lightNodes) has(v world.VM) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if light, known := l.byUUID[strings.ToLower(v.UUID)]; known {
		return light
	}
	return l.byPath[[2]string{v.VCenter, v.Path}]
}

// guest is what stands for a VM. first, unless it is nil, is done whenever the guest boots; an error keeps it from that. The
// caller may hold the lock of the nodes.
func (l *lightNodes) guest(m *machine, first func() error) node.Guest {
	l.begin()
	return l.fleet.Guest(m.vm.VCenter+"/"+m.vm.Ref.Value, fleet.Options{
		Boot: func(nm node.Machine) (feed.Machine, error) {
			if first != nil {
				if err := first(); err != nil {
					return feed.Machine{}, err
				}
			}
			return l.boot(m, nm)
		},
		Notify: func(c child.Change) { l.s.nodes.notifyLight(m, c) },
	})
}

// boot says what a VM's guest is in this boot of it.
func (l *lightNodes) boot(m *machine, nm node.Machine) (feed.Machine, error) {
	name := strings.ToLower(nm.Hostname)
	if bad := validation.IsDNS1123Subdomain(name); len(bad) > 0 {
		return feed.Machine{}, fmt.Errorf("hostname %q of vm %q: no name for a node: %s", nm.Hostname, m.vm.Name, bad[0])
	}
	_, role := l.s.nodes.claim(m, name)
	image, kernel := node.OS(nm.GuestID)
	return feed.Machine{
		Name: name, UUID: nm.UUID, CPUs: nm.CPUs, MemoryBytes: nm.MemoryBytes, OSImage: image, Kernel: kernel,
		ControlPlane: role == topology.RoleControlPlane,
	}, nil
}

// begin starts the program, once, in the background: it waits for nodes, and nodes for it.
func (l *lightNodes) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun || l.ended || l.s.facts.LightInPods {
		return
	}
	l.begun = true
	l.s.background.Run(lightGroup, func(ctx context.Context) {
		if err := l.start(ctx); err != nil && ctx.Err() == nil {
			l.s.opts.Logger.Error("light nodes", "err", err)
			l.s.components.Notify(child.Change{Name: lightComponent, State: child.Exited, Err: err})
		}
	})
}

// start gives the program an account with no more rights than it needs, and starts it.
func (l *lightNodes) start(ctx context.Context) error {
	s := l.s
	for _, o := range fleet.Objects(metav1.NamespaceSystem) {
		if err := accounts.Create(ctx, s.cluster.Client(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	account := accounts.Account{
		Namespace: metav1.NamespaceSystem, Name: fleet.Account, File: s.opts.Dir.Path(lightComponent + ".token"), Group: lightGroup,
	}
	if err := s.tokens.Project(ctx, account); err != nil {
		return err
	}
	addr, err := s.proxies.Addr(lightComponent)
	if err != nil {
		return err
	}
	kubeconfig := s.opts.Dir.Path(lightComponent + ".kubeconfig")
	if err := s.cluster.Token(kubeconfig, addr, account.File); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	args := []string{
		lightComponent,
		"--feed=unix:" + s.opts.Dir.SocketPath(),
		"--kubeconfig=" + kubeconfig,
		fmt.Sprintf("--speed=%v", float64(s.opts.Speed)),
		"--lease-duration=" + fleet.LeaseDuration(l.nodes, s.opts.Speed).String(),
	}
	if s.facts.Pods { // pods run for real on other nodes
		args = append(args, "--label="+feed.Mark+"=", "--taint="+feed.Mark+":NoSchedule")
	}
	l.program = child.Start(s.components.Spec(child.Spec{Name: lightComponent, Args: args}), func(c child.Change) {
		l.fleet.Program(c)
		s.components.Notify(c)
	})
	return nil
}

// child is the program; nil as long as there is none.
func (l *lightNodes) child() *child.Child {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.program
}

// stop ends the program and the fleet; guests are stopped by whoever has them.
func (l *lightNodes) stop(ctx context.Context) error {
	l.mu.Lock()
	l.ended = true
	program := l.program
	l.mu.Unlock()
	err := l.s.background.End(ctx, lightGroup)
	if program != nil {
		if stopped := program.Stop(ctx); err == nil {
			err = stopped
		}
	}
	l.fleet.Close()
	return err
}

// ServeHTTP tells of light nodes, as the program wants to hear it: GET /v1/machines.
func (l *lightNodes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.fleet.Feed().ServeHTTP(w, r)
}
