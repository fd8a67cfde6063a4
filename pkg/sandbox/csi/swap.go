package csi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// rollbackTime bounds the start of the old program after a failed swap.
const rollbackTime = 2 * time.Minute

// builds returns the directory with copies of watched programs.
func (d *Driver) builds() string { return d.dir("builds") }

// NodeService returns the file that says which program is the node service of hollow nodes, a [contract.CSIService].
func (d *Driver) NodeService() string { return d.dir("node-service.json") }

// nameNodeService makes a program the node service of all hollow nodes, if it can be: upstream's formats and mounts disks of the
// machine that it runs on, which is the user's.
func (d *Driver) nameNodeService(o Options) error {
	if err := os.MkdirAll(d.dir(), 0o700); err != nil {
		return err
	}
	wanted := contract.CSIService{ByName: d.asGuest(o)}
	if o.Program.Own && o.Program.Path != "" {
		wanted = contract.CSIService{Path: o.Program.Path, Env: o.Env}
	}
	if is, err := child.ReadConfig[contract.CSIService](d.NodeService()); err == nil && is.Path == wanted.Path && slices.Equal(is.Env, wanted.Env) && is.ByName == wanted.ByName {
		return nil
	}
	return child.WriteConfig(d.NodeService(), wanted)
}

// unavailable returns why the driver cannot be changed, nil when it can.
func (d *Driver) unavailable() error {
	d.mu.Lock()
	none := d.children == nil
	d.mu.Unlock()
	if none {
		e := api.Conflict("no CSI driver runs as a process of this sandbox")
		e.Try = "vsphere-sandbox up --csi builtin"
		return e
	}
	return d.Ready()
}

// Swap replaces the driver and returns when the new one is healthy. One that does not become so is ended, and the old one starts
// again.
func (d *Driver) Swap(ctx context.Context, r api.CSIRequest) (api.Done, error) {
	next := Options{Args: r.Args, Env: r.Env, ConfigFile: r.ConfigFile, Manifest: r.Manifest, Webhook: r.Webhook, WebhookManifest: r.WebhookManifest}
	var err error
	if next.Program, err = requested(ctx, program.CSIDriver, r.Program); err != nil {
		return api.Done{}, err
	}
	if next.Syncer, err = requested(ctx, program.CSISyncer, r.Syncer); err != nil {
		return api.Done{}, err
	}
	if err := d.unavailable(); err != nil {
		return api.Done{}, err
	}
	return d.exchange(ctx, next.WithDefaults(), 0)
}

// requested finds the program of a request, which is a file.
func requested(ctx context.Context, product program.Product, r api.Program) (program.Program, error) {
	if r.Path == "" {
		return program.Program{}, nil
	}
	source, err := product.Parse("file:" + r.Path)
	var p program.Program
	if err == nil {
		p, err = source.Resolve(ctx, program.Options{})
	}
	if invalid, ok := errors.AsType[*coded.Error](err); ok {
		return p, &api.Error{Code: "invalid", Message: invalid.Error(), Try: invalid.Try}
	} else if err != nil {
		return p, err
	}
	for _, one := range []struct {
		to   *string
		from string
	}{{&p.Source, r.Source}, {&p.Version, r.Version}, {&p.Digest, r.Digest}} {
		if one.from != "" {
			*one.to = one.from
		}
	}
	return p, nil
}

// exchange swaps the driver, for the event cause.
func (d *Driver) exchange(ctx context.Context, next Options, cause uint64) (api.Done, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	if err := d.Ready(); err != nil {
		return api.Done{}, err
	}
	old := d.Running()
	next.Replicas = old.Replicas
	if next.foreign() && next.elects() {
		return api.Done{}, &api.Error{Code: "invalid", Message: fmt.Sprintf("%s cannot take the place of %d controllers: %s", next.Name(), next.Replicas, OnePerMachine), Try: "vsphere-sandbox up --csi " + next.Program.Source + " --csi-replicas 1"}
	}
	if err := d.checkWebhook(next); err != nil {
		return api.Done{}, err
	}
	name, before := named(next, old)
	seq := d.event(event.Info, "csi.swap", cause, name+" takes the place of "+before)
	begin := time.Now()
	err := d.replace(ctx, next, seq)
	if err == nil {
		err = d.wait(ctx)
	}
	if err == nil {
		err = d.nameNodeService(next)
	}
	if err == nil {
		d.setFailedBuild("")
		text := fmt.Sprintf("%s runs, healthy after %s", next.Name(), time.Since(begin).Round(10*time.Millisecond))
		return api.Done{Message: text, Seq: d.event(event.Info, "csi.swapped", seq, text)}, nil
	}
	failed := d.event(event.Error, "csi.swap-failed", seq, fmt.Sprintf("%s: %v; back to %s", name, err, before))
	// The old program starts again also if the caller has left.
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	if again := errors.Join(d.replace(back, old, failed), d.wait(back), d.nameNodeService(old)); again != nil {
		return api.Done{}, errors.Join(err, again)
	}
	return api.Done{}, notHealthy("%s: %v; %s runs again", name, err, before)
}

// replace ends what runs and starts o. The caller holds changing.
func (d *Driver) replace(ctx context.Context, o Options, cause uint64) error {
	if err := d.withdraw(ctx); err != nil {
		return err
	}
	if err := d.end(ctx); err != nil { // a process had to be killed, which its event reports
		d.Logger.Error("CSI driver", "err", err)
	}
	for _, p := range d.Running().processes() {
		if p.part != "" {
			d.Components.Forget(p.name) // with its restarts
		}
	}
	if err := d.grant(ctx, o); err != nil {
		return err
	}
	if err := d.project(ctx, o); err != nil {
		return err
	}
	return d.launch(ctx, o, cause)
}

// Restart ends the driver and its sidecars, starts them again and returns when the driver is healthy.
func (d *Driver) Restart(ctx context.Context) (api.Done, error) {
	if err := d.unavailable(); err != nil {
		return api.Done{}, err
	}
	d.changing.Lock()
	defer d.changing.Unlock()
	seq := d.event(event.Info, "csi.restart", 0, "the CSI driver is started again, as was asked for")
	if err := d.replace(ctx, d.Running(), seq); err != nil {
		return api.Done{}, err
	}
	if err := d.wait(ctx); err != nil {
		return api.Done{}, notHealthy("%v", err)
	}
	return api.Done{Message: "started again, healthy", Seq: seq}, nil
}

// Running returns the driver that runs.
func (d *Driver) Running() Options {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running
}

// watchBuilds swaps in every new build of the program at path.
func (d *Driver) watchBuilds(ctx context.Context, path string) {
	err := program.Watch(ctx, path, func(built program.Program) {
		next := d.Running()
		if next.Program.Digest == built.Digest {
			d.setFailedBuild("") // the newest build runs already, as after a mistake that was undone
			return
		}
		next.Syncer, next.Webhook = d.Options.Syncer, d.Options.Webhook
		var err error
		if next.Program, err = program.Keep(ctx, d.builds(), built); err != nil {
			d.Logger.Error("CSI driver", "path", path, "err", err)
			return // most likely another build is being written, which calls this function again
		}
		seq := d.event(event.Info, "csi.rebuilt", 0, fmt.Sprintf("%s was built again", path))
		if _, err := d.exchange(ctx, next.WithDefaults(), seq); err != nil && ctx.Err() == nil {
			d.setFailedBuild(fmt.Sprintf("an older build runs; the build of %s did not start: %v", time.Now().Format(time.TimeOnly), err))
		}
		if err := program.DropKept(d.builds(), d.Running().Program.Path); err != nil {
			d.Logger.Error("CSI driver", "err", err)
		}
	})
	if err != nil {
		d.event(event.Warning, "csi.watch-ended", 0, err.Error())
	}
}

// setFailedBuild sets what became of the newest build, "" if it runs.
func (d *Driver) setFailedBuild(text string) {
	d.update(func() { d.failed = text })
	d.Components.Changed(controller)
}

// Status describes the driver: its programs, its sidecars, and the node services.
func (d *Driver) Status(ctx context.Context) (api.CSI, error) {
	d.mu.Lock()
	o, none := d.running, d.children == nil
	d.mu.Unlock()
	if none {
		return api.CSI{}, &api.Error{Code: "not-found", Message: "no CSI driver runs as a process of this sandbox", Try: "vsphere-sandbox up --csi builtin"}
	}
	var s api.CSI
	parts, states := o.processes(), d.featureStates(ctx, o)
	for _, row := range d.Components.Rows() {
		if i := slices.IndexFunc(parts, func(p process) bool { return p.name == row.Name }); i >= 0 {
			one := api.CSIProgram{Component: row, Part: string(parts[i].part), Features: states}
			if one.Part == "" {
				one.Part, one.Features = "sidecar", nil
			}
			s.Programs = append(s.Programs, one)
		}
	}
	s.Node = api.CSINode{Source: o.Program.Source, Version: o.Program.Version, Digest: o.Program.Digest}
	if o.foreign() {
		s.Node = api.CSINode{
			Source: string(program.Builtin),
			Why:    "the node service of " + o.Name() + " would mount disks on this machine: hollow nodes have the built-in one beside it",
		}
	}
	s.Node.Waiting, s.Node.Nodes = d.waiting()
	return s, nil
}

// event logs an event about the driver.
func (d *Driver) event(level event.Level, kind string, cause uint64, message string) uint64 {
	return d.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: kind, Cause: cause, Object: event.Object{Kind: "Component", Name: controller}, Message: message,
	})
}

func notHealthy(format string, args ...any) *api.Error {
	e := api.Conflict(format, args...)
	e.Try = "vsphere-sandbox logs " + controller
	return e
}
