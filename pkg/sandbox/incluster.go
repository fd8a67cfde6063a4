package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// podCluster is the cluster that the sandbox itself is a pod of: see [Pod].
type podCluster struct {
	s       *Sandbox
	cluster *existing.Cluster
	deploy  *deploy.Deployment
	image   podImage // the pod's own, which has every program of the sandbox in it
	reached map[string]deploy.Reached

	closeDoors func()
	closeFeed  func(context.Context) error
}

// podRemoveTime is how long it may take to take what was made out of the cluster: less than a pod is given to end.
const podRemoveTime = 20 * time.Second

func (*podCluster) component() string { return "cluster" }
func (*podCluster) patient() bool     { return false }
func (*podCluster) podded() bool      { return true }

// start makes what has to be known before there are vCenters, their addresses in the cluster, and opens the ways in: the
// control API for who forwards a port, and the feed for light nodes.
func (p *podCluster) start(ctx context.Context) error {
	s, o := p.s, p.s.opts.Cluster.Pod
	if err := p.allowed(); err != nil {
		return err
	}
	c, err := existing.InCluster(s.opts.Dir.Path())
	if err != nil {
		return err
	}
	p.cluster = c
	s.mu.Lock()
	s.cluster = c
	s.mu.Unlock()
	at, err := p.self(ctx)
	if err != nil {
		return fmt.Errorf("pod %s/%s, which this is to be: %w", o.Namespace, o.Name, err)
	}
	if p.deploy, err = deploy.New(c, deploy.Options{Speed: s.opts.Speed, At: at, Instance: s.opts.Name}); err != nil {
		return err
	}
	if err := p.number(ctx); err != nil {
		return err
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	p.closeFeed, err = s.serveFeed(ctx, o)
	return err
}

// allowed refuses what would harm a cluster that is others', or cannot be.
func (p *podCluster) allowed() error {
	c := p.s.opts.CCM.withDefaults()
	switch {
	case c.Program.Path != "" || len(c.Manifest) > 0 || c.Watch != "":
		return errors.New("a cluster that is others' gets the built-in cloud controller manager: others delete nodes that they do not find in a vCenter")
	case p.s.opts.CSI.Enabled:
		return errors.New("light nodes take no volumes, and other nodes of the cluster are no VMs: it gets no CSI driver")
	case p.s.opts.Real != nil:
		return errors.New("real vCenters have no sandbox in a cluster")
	}
	return nil
}

// number gives each vCenter a port of the pod's, and an address in the cluster.
func (p *podCluster) number(ctx context.Context) error {
	o := p.s.opts.Cluster.Pod
	var endpoints []deploy.Endpoint
	port := loopback.DefaultPort
	for _, vc := range p.s.opts.Topology.Spec.VCenters {
		for port == o.ControlPort || port == o.FeedPort {
			port++
		}
		at := netip.AddrPortFrom(o.IP, uint16(port))
		endpoints = append(endpoints, deploy.Endpoint{Name: vc.Name, Addr: at})
		p.s.opts.Addresses = append(p.s.opts.Addresses, at.String())
		port++
	}
	reached, err := p.deploy.VCenters(ctx, endpoints)
	if err != nil {
		return err
	}
	p.reached = map[string]deploy.Reached{}
	for _, r := range reached {
		p.reached[r.Name] = r
	}
	return nil
}

// open has port-forwards come to the control API, and to each vCenter at its own port.
func (p *podCluster) open(ctx context.Context) error {
	doors := []existing.Door{{Port: p.s.opts.Cluster.Pod.ControlPort, Network: "unix", Address: p.s.opts.Dir.SocketPath()}}
	for _, a := range p.s.opts.Addresses {
		at, err := netip.ParseAddrPort(a)
		if err != nil {
			return err
		}
		doors = append(doors, existing.Door{Port: int(at.Port()), Network: "tcp", Address: a})
	}
	var err error
	p.closeDoors, err = existing.Expose(ctx, doors...)
	return err
}

// names: pods come by a vCenter's Service, and port-forwards by this pod's loopback address.
func (p *podCluster) names(vcenter string) []string {
	r := p.reached[vcenter]
	return []string{r.Host, r.DNS, "127.0.0.1", "localhost"}
}

// await has it all known: the cluster has served from the beginning.
func (p *podCluster) await(context.Context) error {
	s := p.s
	s.mu.Lock()
	s.pods = newPods(s, p.deploy, p.image)
	s.mu.Unlock()
	for _, vc := range s.vcenters {
		s.pods.reach([]deploy.Reached{p.reached[vc.Name()]})
	}
	// They look after their nodes by what this process tells them.
	s.light.fleet.Program(child.Change{Name: lightComponent, State: child.Started, PID: os.Getpid()})
	s.watchPods()
	return nil
}

// stop takes away what was made in the cluster, unless another pod takes the place of this one: that makes the same, and may
// have begun.
func (p *podCluster) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), podRemoveTime)
	defer cancel()
	err := p.s.stopPods(ctx)
	if p.deploy != nil {
		if !p.succeeded(ctx) {
			err = errors.Join(err, p.removeNodes(ctx), p.deploy.Remove(ctx, true))
		}
		p.deploy.Close()
	}
	if p.closeFeed != nil {
		err = errors.Join(err, p.closeFeed(ctx))
	}
	if p.closeDoors != nil {
		p.closeDoors()
	}
	return err
}

// guest is a light node, whatever the topology says: there is nothing here that a kubelet could be a process of.
func (p *podCluster) guest(m *machine) node.Guest { return p.s.light.guest(m) }

func (*podCluster) waitVolumes(context.Context) error { return nil }
func (*podCluster) volumes() podVolumes               { return podVolumes{} }
func (*podCluster) guests(string) cns.Guests          { return nil }

// podImage is one image that has everything in it.
type podImage string

// Name is what it is called, whatever is wanted of it.
func (i podImage) Name(string) string { return string(i) }

// validate tells what is missing.
func (o *Pod) validate() error {
	for what, value := range map[string]string{"name": o.Name, "namespace": o.Namespace, "node": o.Node, "feed directory": o.FeedDir} {
		if value == "" {
			return fmt.Errorf("the pod's %s is not known", what)
		}
	}
	if !o.IP.IsValid() || o.IP.IsLoopback() {
		return fmt.Errorf("the pod's address is not known: %s", o.IP)
	}
	for what, port := range map[string]int{"control": o.ControlPort, "feed": o.FeedPort} {
		if port < 1024 || port > 65535 {
			return errors.New(what + " port " + strconv.Itoa(port) + ": want a number from 1024 to 65535")
		}
	}
	return nil
}
