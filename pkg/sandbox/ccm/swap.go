package ccm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
)

// rollbackTime bounds the start of the old program after a failed swap.
const rollbackTime = 2 * time.Minute

// restartRequested is the message of a restart through the API.
const restartRequested = "the cloud controller manager is started again, as was asked for"

// Swap implements [Manager]. A program that does not become healthy is ended, and the old one starts again.
func (p *Processes) Swap(ctx context.Context, r api.CCMRequest) (api.Done, error) {
	next, err := requested(ctx, r)
	if err != nil {
		return api.Done{}, err
	}
	if err := p.Ready(); err != nil {
		return api.Done{}, err
	}
	p.Options.installation(&next)
	if p.Options.None {
		if err := p.adopt(ctx); err != nil {
			return api.Done{}, err
		}
	}
	return p.exchange(ctx, next, 0)
}

// exchange swaps the program, for the event cause.
func (p *Processes) exchange(ctx context.Context, next Options, cause uint64) (api.Done, error) {
	p.changing.Lock()
	defer p.changing.Unlock()
	if err := p.Ready(); err != nil {
		return api.Done{}, err
	}
	old, elected := p.current()
	seq := p.event(event.Info, "ccm.swap", cause, next.replaces(old))
	begin := time.Now()
	err := p.replace(ctx, next, next.elects(), seq)
	if err == nil {
		err = p.Wait(ctx)
	}
	if err == nil {
		p.setFailedBuild("")
		text := fmt.Sprintf("%s runs, healthy after %s", next.Name(), time.Since(begin).Round(10*time.Millisecond))
		return api.Done{Message: text, Seq: p.event(event.Info, "ccm.swapped", seq, text)}, nil
	}
	name, before := names(next, old)
	failed := p.event(event.Error, "ccm.swap-failed", seq, fmt.Sprintf("%s: %v; back to %s", name, err, before))
	// The old program starts again also if the caller has left.
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	if again := errors.Join(p.replace(back, old, elected, failed), p.Wait(back)); again != nil {
		return api.Done{}, errors.Join(err, again)
	}
	return api.Done{}, notHealthy("%s: %v; %s runs again", name, err, before)
}

// current returns what runs, and whether replicas elect a leader.
func (p *Processes) current() (running Options, elect bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running, p.elect
}

// end stops replicas, for the event cause.
func (p *Processes) end(ctx context.Context, list []*replica, cause uint64) error {
	p.setRestartCause(cause)
	defer p.setRestartCause(0)
	return stopAll(ctx, list)
}

// replace ends what runs and starts o.
func (p *Processes) replace(ctx context.Context, o Options, elect bool, cause uint64) error {
	old := p.all()
	if err := p.end(ctx, old, cause); err != nil { // a process had to be killed, which its event reports
		p.failed(err)
	}
	for i, r := range old {
		p.Components.Forget(r.name) // with its restarts
		if i < o.Replicas {
			continue
		}
		if err := p.Proxies.Drop(r.name); err != nil {
			return err
		}
	}
	if !p.Options.None { // otherwise the user grants its rights
		if err := p.grant(ctx, o, elect); err != nil {
			return err
		}
	}
	return p.launch(o, elect, cause)
}

// Restart implements [Manager].
func (p *Processes) Restart(ctx context.Context) (api.Done, error) {
	if err := p.Ready(); err != nil {
		return api.Done{}, err
	}
	if p.Count() == 0 {
		e := api.Conflict("no cloud controller manager runs")
		e.Try = "vsphere-sandbox ccm swap builtin"
		return api.Done{}, e
	}
	seq := p.restart(ctx, 0, restartRequested)
	if err := p.Wait(ctx); err != nil {
		return api.Done{}, notHealthy("%v", err)
	}
	return api.Done{Message: "started again, healthy", Seq: seq}, nil
}

// NeedsRestart implements [Manager]. It restarts the processes once for a change, although every Secret with credentials carries
// the provider's Event.
func (p *Processes) NeedsRestart(cause uint64) {
	p.mu.Lock()
	wanted := p.configChanged
	p.configChanged = false
	p.mu.Unlock()
	if wanted {
		p.Background.Run(restartGroup, func(ctx context.Context) {
			p.restart(ctx, cause, "the cloud controller manager is started again, for what it does not take up while it runs")
		})
	}
}

// restart ends all processes, which log out, and starts them again. It returns the event of the restart, 0 if no process runs.
func (p *Processes) restart(ctx context.Context, cause uint64, why string) uint64 {
	p.changing.Lock()
	defer p.changing.Unlock()
	old := p.all()
	if len(old) == 0 || ctx.Err() != nil {
		return 0
	}
	o, elect := p.current()
	seq := p.event(event.Info, "ccm.restart", cause, why)
	if err := p.end(ctx, old, seq); err != nil {
		p.failed(err)
	}
	if ctx.Err() != nil {
		return seq // the sandbox is stopping
	}
	if err := p.launch(o, elect, seq); err != nil {
		p.failed(err)
	}
	return seq
}

// Scale implements [Manager]. The first process is started again to elect a leader when a second one joins it. It keeps electing
// one when it is the last.
func (p *Processes) Scale(ctx context.Context, n int) error {
	if err := checkReplicas(n, 1); err != nil {
		return err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	list := p.all()
	if len(list) == 0 {
		return &api.Error{Code: "unavailable", Message: "the sandbox has no cloud controller manager, or has not started it yet"}
	}
	o, elect := p.current()
	if n == len(list) {
		return nil
	}
	o.Replicas = n
	seq := p.event(event.Info, "ccm.scaled", p.Ongoing.Of(Component), fmt.Sprintf("cloud controller managers: %d, before %d", n, len(list)))
	if n < len(list) {
		err := p.end(ctx, list[n:], seq)
		p.update(func() { p.running, p.list = o, p.list[:n] })
		for _, r := range list[n:] {
			p.Components.Forget(r.name)
			err = errors.Join(err, p.Proxies.Drop(r.name))
		}
		return err
	}
	if !elect {
		if !p.Options.None {
			if err := p.grant(ctx, o, true); err != nil {
				return err
			}
		}
		if err := p.end(ctx, list, seq); err != nil {
			return err
		}
		return p.launch(o, true, seq)
	}
	p.update(func() { p.running = o })
	for i := len(list); i < n; i++ {
		if err := p.launchReplica(components.Replica(Component, i), seq); err != nil {
			return err
		}
	}
	return nil
}
