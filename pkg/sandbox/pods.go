package sandbox

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// pods are the cloud controller manager and the CSI driver where these run in the cluster.
type pods struct {
	*deploy.Deployment
	s      *Sandbox
	images ground.Images

	mu      sync.Mutex
	reached map[string]deploy.Reached // vCenters by name, as clients in the cluster reach them
	now     map[string]deploy.Change  // components, those that are gone left out
}

func newPods(s *Sandbox, d *deploy.Deployment, images ground.Images) *pods {
	return &pods{Deployment: d, s: s, images: images, reached: map[string]deploy.Reached{}, now: map[string]deploy.Change{}}
}

// reach notes where clients in the cluster reach the vCenters.
func (p *pods) reach(all []deploy.Reached) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range all {
		p.reached[r.Name] = r
	}
}

// find is a component as it is; false when there is none of that name.
func (p *pods) find(component string) (deploy.Change, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.now[component]
	return c, ok
}

// Config is what the cloud controller manager and the driver are configured with.
func (p *pods) Config() (deploy.Config, error) {
	ca, err := os.ReadFile(p.s.vcenterCA())
	if err != nil {
		return deploy.Config{}, err
	}
	secret := map[string][]byte{}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, vc := range p.s.vcenters {
		host := p.reached[vc.Name()].Host
		secret[host+".username"], secret[host+".password"] = []byte(vc.User()), []byte(vc.Password())
	}
	return deploy.Config{Conf: p.conf, CA: ca, Secret: secret}, nil
}

// conf is vsphere.conf for a place in the cluster.
func (p *pods) conf(at deploy.Place) ([]byte, error) {
	return p.s.config.Render(sim.CloudConfig{
		CAFile: at.CAFile, SecretName: at.SecretName, SecretNamespace: at.SecretNamespace,
		Reach: p.where,
	})
}

// where is the host and the port by which clients in the cluster reach a vCenter.
func (p *pods) where(vcenter string) (host string, port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.reached[vcenter]
	return r.Host, r.Port
}

// watchPods follows the components, and what they say.
func (s *Sandbox) watchPods() {
	s.background.Run(podWatch, func(ctx context.Context) {
		if err := s.pods.Watch(ctx, s.podChanged); err != nil {
			s.opts.Logger.Error("pods", "err", err)
		}
	})
}

// podWatch is the background group of what follows pods.
const podWatch = "pod watch"

// stopPods ends what follows them. They end with their cluster.
func (s *Sandbox) stopPods(ctx context.Context) error {
	if s.pods == nil {
		return nil
	}
	err := s.background.End(ctx, podWatch)
	s.pods.Close()
	return err
}

// keepLog has what a component says in its log, as a process would.
func (s *Sandbox) keepLog(ctx context.Context, component string) {
	f, err := os.OpenFile(s.opts.Dir.Log(component), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(s.pods.Logs(ctx, component, f), f.Close())
	}
	if err != nil && ctx.Err() == nil {
		s.opts.Logger.Error("log of a pod", "component", component, "err", err)
	}
}
