package csi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
)

// probeTime bounds the questions that a driver is asked about its health.
const probeTime = 2 * time.Second

// healthy is the health of a driver that serves.
const healthy = "healthy"

// errStopping is returned while the sandbox stops.
var errStopping = errors.New("the sandbox is stopping")

// state is how a controller is, or the webhook. [Driver.mu] guards it.
type state struct {
	started time.Time
	logFrom int64 // where its log begins in the file: earlier processes have written the part before
	healthy bool
	reason  string // why it is not healthy
	final   bool   // it will not become healthy
	version string // as the driver itself has it
	// exits counts the exits of a program of the driver since the start, exit describes the last one.
	exits int
	exit  string
}

// update changes the state and wakes [Driver.wait].
func (d *Driver) update(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

// logSize is how long the log of a component is.
func (d *Driver) logSize(component string) int64 {
	if info, err := os.Stat(d.Dir.Log(component)); err == nil {
		return info.Size()
	}
	return 0
}

// childChanged updates the state when a program of the driver starts or ends.
func (d *Driver) childChanged(p process, ch child.Change) {
	d.update(func() {
		if p.replica >= len(d.states) {
			return // the driver is being stopped for a restore
		}
		s, why := d.stateOf(p), func(text string) string { return text }
		if p.part == partWebhook {
			why = d.hook.blocks
		}
		switch ch.State {
		case child.Exited:
			d.leads[p.name] = false
			if p.part == "" {
				return
			}
			s.exits++
			s.exit = child.ExitText(ch, d.Dir.Log(p.name))
			if p.part.probed() {
				s.healthy, s.reason = false, why("exited")
			}
		case child.Stopped, child.Restarting:
			d.leads[p.name] = false
			if p.part.probed() && s.healthy {
				s.healthy, s.reason = false, why("being started again")
			}
		case child.Started, child.Starting:
		}
	})
	d.Components.Changed(p.name)
}

// startTime returns how long a driver may take to serve.
func (d *Driver) startTime() time.Duration {
	if d.StartTime > 0 {
		return d.StartTime
	}
	return time.Minute
}

// watchHealth asks the driver: often until it is healthy, then every five seconds.
func (d *Driver) watchHealth(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	asked := map[string]time.Time{} // one that hangs takes longer than a tick
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, p := range d.Running().processes() {
			running := d.Find(p.name)
			if !p.part.probed() || running == nil || running.PID() == 0 || running.Ending() {
				continue
			}
			is, known := d.stateNow(p)
			if !known { // the driver is being stopped for a restore
				continue
			}
			if !is.healthy || time.Since(asked[p.name]) > 5*time.Second {
				asked[p.name] = time.Now()
				d.probe(ctx, p, running)
			}
			if late := !is.healthy && time.Since(is.started) > d.startTime(); p.part == partController && d.Unhealthy != nil && (late || is.final) {
				d.Unhealthy(d.neverHealthy(p.name, is))
			}
		}
	}
}

// stateNow returns a copy of [Driver.stateOf], if there is one.
func (d *Driver) stateNow(p process) (is state, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.replica >= len(d.states) {
		return is, false
	}
	return *d.stateOf(p), true
}

// stateOf returns how the controller is to which a process belongs, or the webhook. The caller holds mu.
func (d *Driver) stateOf(p process) *state {
	if p.part == partWebhook {
		return &d.webhook
	}
	return &d.states[p.replica]
}

// probe updates the health of a controller or the webhook, unless the process that answered has ended.
func (d *Driver) probe(ctx context.Context, p process, running *child.Child) {
	pid, name := running.PID(), p.name
	version, final, err := d.ask(ctx, p)
	if ctx.Err() != nil {
		return
	}
	was, current := false, false
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	d.update(func() {
		if current = d.children[name] == running && running.PID() == pid && !running.Ending(); !current {
			return
		}
		s := d.stateOf(p)
		was, s.healthy, s.reason, s.final = s.healthy, err == nil, reason, final
		s.version = version
	})
	if !current {
		return
	}
	e := event.Event{Plane: event.PlaneSandbox, Kind: "csi.healthy", Object: event.Object{Kind: "Component", Name: name}, Message: name + ": healthy"}
	switch {
	case err == nil && !was:
		d.Log.Append(e)
	case err != nil && was:
		e.Level, e.Kind, e.Message = event.Warning, "csi.unhealthy", name+": "+reason
		d.Log.Append(e)
	}
	d.Components.Changed(name)
}

// ask asks the driver what it is and whether it is ready, and the webhook whether it is there. An error is final if the program is
// another one than is wanted.
func (d *Driver) ask(ctx context.Context, p process) (version string, final bool, err error) {
	if p.part == partWebhook {
		return "", false, d.askWebhook(ctx)
	}
	socket, err := d.socket(p.replica)
	if err != nil {
		return "", false, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return ask(ctx, socket)
}

func ask(ctx context.Context, socket string) (version string, final bool, err error) {
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", false, err
	}
	defer conn.Close()
	client := csiapi.NewIdentityClient(conn)
	info, err := client.GetPluginInfo(ctx, &csiapi.GetPluginInfoRequest{})
	switch status.Code(err) {
	case codes.OK:
	case codes.Unavailable:
		return "", false, errors.New("does not listen on its socket")
	case codes.DeadlineExceeded:
		return "", false, fmt.Errorf("does not answer within %s", probeTime)
	case codes.Unimplemented:
		return "", true, errors.New("does not speak CSI 1.x: it has no service csi.v1.Identity")
	default:
		return "", false, fmt.Errorf("GetPluginInfo: %s", status.Convert(err).Message())
	}
	version = info.VendorVersion
	if info.Name != names.Driver {
		return version, true, fmt.Errorf("is CSI driver %q; the sandbox's StorageClasses and nodes are for %s", info.Name, names.Driver)
	}
	can, err := client.GetPluginCapabilities(ctx, &csiapi.GetPluginCapabilitiesRequest{})
	if err != nil {
		return version, false, fmt.Errorf("GetPluginCapabilities: %s", status.Convert(err).Message())
	}
	if !slices.ContainsFunc(can.Capabilities, func(c *csiapi.PluginCapability) bool {
		return c.GetService().GetType() == csiapi.PluginCapability_Service_CONTROLLER_SERVICE
	}) {
		return version, true, errors.New("has no controller service: it does not run in controller mode")
	}
	ready, err := client.Probe(ctx, &csiapi.ProbeRequest{})
	if err != nil {
		return version, false, fmt.Errorf("is not ready: %s", status.Convert(err).Message())
	}
	if ready.Ready != nil && !ready.Ready.Value {
		return version, false, errors.New("is not ready")
	}
	return version, false, nil
}

// wait returns when all controllers are healthy and the webhook, or an error that explains why one is not.
func (d *Driver) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.startTime())
	defer cancel()
	for {
		d.mu.Lock()
		replica := max(0, slices.IndexFunc(d.states, func(s state) bool { return !s.healthy }))
		name, is, stopped := components.Replica(controller, replica), d.states[replica], d.stopped
		if is.healthy && d.running.Webhook {
			name, is = webhook, d.webhook
		}
		if d.changed == nil {
			d.changed = make(chan struct{})
		}
		changed := d.changed
		d.mu.Unlock()
		switch {
		case stopped:
			return errStopping
		case is.exits >= 2: // one exit may be an accident
			return errors.New(is.exit)
		case is.final:
			return errors.New(name + ": " + is.reason)
		case is.healthy:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return errors.New(d.neverHealthy(name, is))
			}
			return context.Cause(ctx)
		}
	}
}

// neverHealthy describes a controller, or the webhook, that does not become healthy, with the end of its log.
func (d *Driver) neverHealthy(name string, is state) string {
	if is.final {
		return name + ": " + is.reason
	}
	text := fmt.Sprintf("%s: not healthy %s after its start: %s", name, time.Since(is.started).Round(time.Second), is.reason)
	if words := child.LastWords(child.LogTail(d.Dir.Log(name), is.logFrom)); words != "" {
		return text + "; its last words: " + words
	}
	return text + "; it has logged nothing"
}

// Describe adds program and health to the rows of the driver's programs.
func (d *Driver) Describe(rows []api.Component) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.children == nil {
		return
	}
	for i := range rows {
		row := &rows[i]
		row.Leader = row.Leader || d.leads[row.Name]
		if row.Name == webhook {
			p := d.running.Syncer
			row.Source, row.Version, row.Digest = p.Source, p.Version, p.Digest
			if row.Health = healthy; !d.webhook.healthy {
				row.Health = d.webhook.reason
			}
		}
		for replica, is := range d.states {
			switch row.Name {
			case components.Replica(controller, replica):
				p := d.running.Program
				row.Source, row.Version, row.Digest, row.FailedBuild = p.Source, p.Version, p.Digest, d.failed
				if row.Version == "" {
					row.Version = is.version
				}
				if row.Health = healthy; !is.healthy {
					row.Health = is.reason
				}
			case components.Replica(syncer, replica):
				p := d.running.Syncer
				row.Source, row.Version, row.Digest = p.Source, p.Version, p.Digest
			}
		}
	}
}
