package ccm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
)

// Pods runs cloud controller managers as pods. It implements [Manager].
type Pods struct {
	Replicas
	Deployment Deployment
	// Args are more arguments of the built-in program.
	Args []string
	// Rights are the account and the roles of the built-in program; nil for those of its manifest.
	Rights []runtime.Object
	// Deployed is called once, after the first objects have been applied.
	Deployed func() error
	// Detail reports what Start waits for.
	Detail func(text string)
}

// Deployment applies cloud controller managers to a cluster. A [pods.Pods] implements it.
type Deployment interface {
	// Config returns the configuration of the pods, Image the name that the image of a program has on the nodes.
	Config() (deploy.Config, error)
	Image(program string) string
	CCM(context.Context, deploy.CCM) error
	Wait(ctx context.Context, detail func(string)) error
	Restart(ctx context.Context, component string) error
	Scale(ctx context.Context, replicas int) error
}

// Start implements [Manager]. It returns when all pods are ready.
func (p *Pods) Start(ctx context.Context) error {
	if err := p.deploy(ctx, p.Options.WithDefaults()); err != nil {
		return err
	}
	if err := p.Deployed(); err != nil {
		return err
	}
	return p.Deployment.Wait(ctx, p.Detail)
}

// Stop implements [Manager]. The pods end with their cluster.
func (p *Pods) Stop(context.Context) error {
	p.stop()
	return nil
}

// deploy applies the objects of a cloud controller manager.
func (p *Pods) deploy(ctx context.Context, o Options) error {
	d := p.Deployment
	config, err := d.Config()
	if err != nil {
		return err
	}
	p.update(func() { p.running = o })
	if len(o.Manifest) > 0 {
		return d.CCM(ctx, deploy.CCM{Config: config, Manifest: o.Manifest})
	}
	return d.CCM(ctx, deploy.CCM{Config: config, Image: d.Image(image.CCM), Rights: p.Rights, Args: slices.Concat(p.Args, o.Args), Replicas: o.Replicas})
}

// Swap implements [Manager].
func (p *Pods) Swap(ctx context.Context, r api.CCMRequest) (api.Done, error) {
	next, err := requested(ctx, r)
	if err != nil {
		return api.Done{}, err
	}
	if err := p.Ready(); err != nil {
		return api.Done{}, err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	if next.Program.Path != "" {
		return api.Done{}, &api.Error{
			Code: "unsupported", Message: fmt.Sprintf("%s: a program cannot take the place of a pod: the nodes have no image of it", next.Name()),
			Try: "vsphere-sandbox up --cluster kind --ccm " + next.Program.Source,
		}
	}
	seq := p.event(event.Info, "ccm.swap", 0, next.Name()+" is deployed")
	if err := p.deploy(ctx, next); err != nil {
		return api.Done{}, err
	}
	if err := p.Deployment.Wait(ctx, func(string) {}); err != nil {
		return api.Done{}, notHealthy("%v", err)
	}
	return api.Done{Message: next.Name() + " runs, healthy", Seq: seq}, nil
}

// Restart implements [Manager].
func (p *Pods) Restart(ctx context.Context) (api.Done, error) {
	if err := p.Ready(); err != nil {
		return api.Done{}, err
	}
	seq := p.event(event.Info, "ccm.restart", 0, restartRequested)
	for _, r := range p.all() {
		p.Components.Expect(r.name, seq)
		if err := p.Deployment.Restart(ctx, r.name); err != nil {
			return api.Done{}, notHealthy("%v", err)
		}
	}
	if err := p.Deployment.Wait(ctx, func(string) {}); err != nil {
		return api.Done{}, notHealthy("%v", err)
	}
	return api.Done{Message: "started again, healthy", Seq: seq}, nil
}

// Scale implements [Manager].
func (p *Pods) Scale(ctx context.Context, replicas int) error {
	if err := checkReplicas(replicas, 1); err != nil {
		return err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	return p.Deployment.Scale(ctx, replicas)
}

// NeedsRestart implements [Manager]. It restarts no pods: the sandbox does not follow their file.
func (p *Pods) NeedsRestart(uint64) {}

// Changed updates the state of the replica that is a container of a pod.
func (p *Pods) Changed(c deploy.Change) {
	p.update(func() {
		i := slices.IndexFunc(p.list, func(r *replica) bool { return r.name == c.Component })
		if c.State == deploy.Gone {
			if i >= 0 {
				p.list = slices.Delete(p.list, i, i+1)
			}
			return
		}
		if i < 0 {
			i, p.list = len(p.list), append(p.list, &replica{name: c.Component, started: time.Now()})
		}
		r := p.list[i]
		r.healthy, r.exits, r.started, r.reason = c.Ready, c.Restarts, cmp.Or(c.Started, r.started), "not ready"
		if c.State != deploy.Running {
			r.reason, r.exit = cmp.Or(c.Reason, string(c.State)), components.PodText(c)
		}
	})
}
