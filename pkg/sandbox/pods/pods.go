// Package pods runs the cloud controller manager and the CSI driver of a sandbox as pods of its cluster: it knows where pods
// reach the vCenters, follows the containers, and logs what becomes of them as of processes of the sandbox.
//
// Floor 3.
package pods

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// Pods is the components of a sandbox that run as pods. Set its fields before [Pods.Start]. Its methods may be called from
// any goroutine; before Start no component exists, and no pod reaches a vCenter.
type Pods struct {
	// Deployment is nil before Start.
	*deploy.Deployment
	Log        *event.Log
	Logger     *slog.Logger
	Dir        *instance.Dir
	Components *components.Registry
	Background *background.Groups
	VCenters   func() vcenters.List
	// CAFile is the file with the certificate that verifies the vCenters.
	CAFile func() string
	// CloudConfig renders vsphere.conf, NSXConfig what a cloud controller manager has in it besides, if it uses NSX.
	CloudConfig func(sim.CloudConfig) ([]byte, error)
	NSXConfig   func(deploy.ConfigLocation) ([]byte, error)
	// NSX returns the data of the Secret with the account for the NSX Manager; nil if no cloud controller manager uses it.
	NSX func() map[string][]byte
	// CCMChanged receives each change of a cloud controller manager. It is nil where that is a process.
	CCMChanged func(deploy.Change)

	mu      sync.Mutex
	images  func(program string) string
	reached map[string]deploy.PodEndpoint // by vCenter
	now     map[string]deploy.Change      // by component; without those that are gone
}

// Group is the background group that follows the pods.
const Group = "pod watch"

// Start follows the components of a deployment. Image returns the name of a program's image, reached is where pods reach the
// vCenters.
func (p *Pods) Start(d *deploy.Deployment, image func(program string) string, reached []deploy.PodEndpoint) {
	p.mu.Lock()
	p.Deployment, p.images, p.reached = d, image, map[string]deploy.PodEndpoint{}
	for _, r := range reached {
		p.reached[r.Name] = r
	}
	p.mu.Unlock()
	p.Background.Run(Group, func(ctx context.Context) {
		if err := d.Watch(ctx, p.Changed); err != nil {
			p.Logger.Error("pods", "err", err)
		}
	})
}

// Stop ends what follows the pods. The pods end with their cluster.
func (p *Pods) Stop(ctx context.Context) error {
	if p.Deployment == nil {
		return nil
	}
	err := p.Background.End(ctx, Group)
	p.Close()
	return err
}

// Image returns the name of a program's image.
func (p *Pods) Image(program string) string { return p.images(program) }

// Find returns a component; false when no pod has it.
func (p *Pods) Find(component string) (deploy.Change, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.now[component]
	return c, ok
}

// Endpoint returns the host and the port at which pods reach a vCenter, "" when none does.
func (p *Pods) Endpoint(vcenter string) (host string, port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.reached[vcenter]
	return r.Host, r.Port
}

// Host returns the host at which pods reach a vCenter, "" when none does.
func (p *Pods) Host(vcenter string) string {
	host, _ := p.Endpoint(vcenter)
	return host
}

// Config returns the configuration of the cloud controller manager.
func (p *Pods) Config() (deploy.Config, error) {
	c, err := p.Driver()
	c.NSX = p.NSX()
	vcenters := c.Conf
	c.Conf = func(at deploy.ConfigLocation) ([]byte, error) {
		conf, err := vcenters(at)
		if err != nil {
			return nil, err
		}
		more, err := p.NSXConfig(at)
		return append(conf, more...), err
	}
	return c, err
}

// Driver returns the configuration of the CSI driver: the vCenters.
func (p *Pods) Driver() (deploy.Config, error) {
	ca, err := os.ReadFile(p.CAFile())
	if err != nil {
		return deploy.Config{}, err
	}
	secret := map[string][]byte{}
	for _, vc := range p.VCenters() {
		host := p.Host(vc.Name())
		secret[host+".username"], secret[host+".password"] = []byte(vc.User()), []byte(vc.Password())
	}
	conf := func(at deploy.ConfigLocation) ([]byte, error) {
		return p.CloudConfig(sim.CloudConfig{CAFile: at.CAFile, SecretName: at.SecretName, SecretNamespace: at.SecretNamespace, Reach: p.Endpoint})
	}
	return deploy.Config{Conf: conf, CA: ca, Secret: secret}, nil
}

// Changed receives the changes of components, one after the other.
func (p *Pods) Changed(c deploy.Change) {
	p.mu.Lock()
	was, known := p.now[c.Component]
	if p.now == nil {
		p.now = map[string]deploy.Change{}
	}
	if p.now[c.Component] = c; c.State == deploy.Gone {
		delete(p.now, c.Component)
	}
	p.mu.Unlock()
	if !known {
		p.Background.Run(Group, func(ctx context.Context) { p.copyLog(ctx, c.Component) })
	}
	p.Components.SetPod(c)
	if p.CCMChanged != nil && ccm.IsReplica(c.Component) {
		p.CCMChanged(c)
		p.Components.Changed(c.Component)
	}
	p.note(was, c)
}

// copyLog copies the output of a component to its log file, until the component is gone.
func (p *Pods) copyLog(ctx context.Context, component string) {
	f, err := os.OpenFile(p.Dir.Log(component), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(p.Logs(ctx, component, f), f.Close())
	}
	if err != nil && ctx.Err() == nil {
		p.Logger.Error("log of a pod", "component", component, "err", err)
	}
}

// note logs a change that a user would notice.
func (p *Pods) note(was, is deploy.Change) {
	e := event.Event{Plane: event.PlaneSandbox, Object: event.Object{Kind: "Component", Name: is.Component}}
	e.Cause = p.Components.Cause(is.Component)
	switch {
	case is.State == deploy.Running && (was.State != deploy.Running || !was.Started.Equal(is.Started)):
		if was.State == deploy.Running { // the watch has missed the end of the former process
			p.Log.Append(event.Event{Plane: e.Plane, Object: e.Object, Cause: e.Cause, Level: event.Error, Kind: "child.exited", Message: is.Component + ": ended"})
		}
		e.Kind, e.Message = "child.started", fmt.Sprintf("%s: started, in pod %s on node %s", is.Component, is.Pod, is.Node)
	case is.State == deploy.Exited && was.State != deploy.Exited:
		e.Level, e.Kind, e.Message = event.Error, "child.exited", components.PodText(is)
	case is.State == deploy.Gone && was.State != deploy.Gone:
		e.Kind, e.Message = "child.stopped", is.Component+": its pod is gone"
	case is.State == deploy.Running && is.Ready && !was.Ready && ccm.IsReplica(is.Component):
		e.Kind, e.Message = "ccm.healthy", is.Component+": healthy"
	case is.State == deploy.Running && !is.Ready && was.Ready && ccm.IsReplica(is.Component):
		e.Level, e.Kind, e.Message = event.Warning, "ccm.unhealthy", is.Component+": not ready"
	default:
		return
	}
	p.Log.Append(e)
	if e.Kind == "child.started" {
		p.Components.ClearCause(is.Component)
	}
}
