package stage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/home"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/limits"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Booter boots sandboxes in this process, one at a time. All fields are required.
type Booter struct {
	// Root is the state directory, Name what the first sandbox is called; others get a number after it.
	Root, Name string
	// Command is the command that boots them: "scenario run".
	Command string
	// Retain keeps the directory of a sandbox on which something failed.
	Retain bool
	// Limits are the flags about this machine, checked.
	Limits limits.Flags
	// Print prints a line for the user, Busy what is being done.
	Print func(format string, args ...any)
	Busy  func(text string)
	// Lost is called for a sandbox that did not come up, while its logs exist.
	Lost func(logs string, log *event.Log)

	booted int
}

// Spec is what a sandbox has to be.
type Spec struct {
	Topology *topology.Topology
	Speed    float64
	CCM      sandbox.CCM
	CSI      sandbox.CSI
	Cluster  sandbox.Cluster
	// LoadBalancer is one of the LoadBalancer values of package sandbox; "" for none.
	LoadBalancer string
	// Audit keeps the API server's audit log.
	Audit bool
}

// Running is a sandbox that is up.
type Running struct {
	Name   string
	Client *api.Client
	// Took is how long it took to boot.
	Took time.Duration

	m       *Booter
	home    *home.Home
	cancel  context.CancelFunc
	removed func() error // that its directory was, if so
	ended   chan error
}

// Boot boots a sandbox, which [Running.Stop] ends. While ctx lasts it can be interrupted; from then on the sandbox stays up
// until it is stopped, so that what was broken in it can be put right.
func (m *Booter) Boot(ctx context.Context, want Spec) (*Running, error) {
	m.booted++
	name := m.Name
	if m.booted > 1 {
		name = fmt.Sprintf("%s-%d", m.Name, m.booted)
	}
	begin := time.Now()
	place, err := m.Limits.Place(m.Root)
	if err != nil {
		return nil, home.ExplainState(err, name, m.Command)
	}
	opts := sandbox.Options{
		Name: name, Topology: want.Topology, Speed: pace.Speed(want.Speed), CCM: want.CCM, CSI: want.CSI, Cluster: want.Cluster, Audit: want.Audit, Place: place,
		LoadBalancer: want.LoadBalancer,
		Progress: func(p sandbox.Progress) {
			text := fmt.Sprintf("sandbox %s: %s", name, p.Name)
			if p.Detail != "" {
				text += ": " + p.Detail
			}
			m.Busy(text)
		},
	}
	if err := m.Limits.Run(ctx, limits.SizeOf(opts, m.Root), func(text string) { m.Print("note: %s", text) }); err != nil {
		return nil, err
	}
	h, err := home.Open(ctx, m.Root, name, want.Topology.Metadata.Name, func(text string) { m.Print("%s", text) })
	if err != nil {
		return nil, home.ExplainState(err, name, m.Command)
	}
	if left := h.Dir.Predecessor(); left.Removed {
		m.Print("cleaned up after an earlier sandbox %q that crashed (%d processes were left)", name, len(left.Killed))
	}
	r := &Running{Name: name, Client: api.NewClient(h.Dir.SocketPath()), m: m, home: h, ended: make(chan error, 1)}
	opts.Dir, opts.Logger = h.Dir, h.Logger
	s := sandbox.New(opts)
	alive, cancel := h.Context(context.WithoutCancel(ctx))
	r.cancel, r.removed = cancel, func() error { return h.Removed(alive) }
	interrupted := context.AfterFunc(ctx, cancel)
	ready := make(chan struct{})
	go func() { r.ended <- s.Run(alive, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-r.ended:
		interrupted()
		cancel()
		m.Busy("")
		if ctx.Err() == nil {
			m.trouble(s.Log())
		}
		m.Lost(filepath.Dir(h.Dir.Log("sandbox")), s.Log())
		if err == nil {
			err = errors.New("ended before it was ready")
		}
		return nil, errors.Join(home.ExplainRun(err, name, "vsphere-sandbox "+m.Command), r.leave(ctx.Err() == nil))
	}
	m.Busy("")
	h.Ready()
	if !interrupted() { // too late to interrupt the boot: it ends at once
		return nil, errors.Join(ctx.Err(), r.Stop(false))
	}
	r.Took = time.Since(begin)
	return r, nil
}

// trouble prints the last failures.
func (m *Booter) trouble(log *event.Log) {
	const most = 5
	events, _ := log.Read(0, 0)
	var bad []event.Event
	for _, e := range events {
		if e.Level == event.Error {
			bad = append(bad, e)
		}
	}
	for _, e := range bad[max(0, len(bad)-most):] {
		m.Print("  ✗ %s", e.Message)
	}
}

// Stop ends the sandbox and waits until nothing of it is left. failed says that what ran on it did.
func (r *Running) Stop(failed bool) error {
	r.m.Busy("sandbox " + r.Name + ": stops")
	removed := r.removed()
	r.cancel()
	err := <-r.ended
	r.m.Busy("")
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(removed, home.ExplainRun(err, r.Name, ""), r.leave(failed && removed == nil))
}

// leave removes the directory, or leaves it when that was asked for.
func (r *Running) leave(failed bool) error {
	retain := failed && r.m.Retain
	if retain {
		r.m.Print("kept until \"vsphere-sandbox down --name %s\": %s", r.Name, r.home.Dir.Path())
	}
	return r.home.Release(retain)
}

// NameOf is the name of the sandboxes of a run: the one that was asked for, or kind and a number that no other run has.
func NameOf(asked, kind string, pid int) (string, error) {
	if asked == "" {
		asked = fmt.Sprintf("%s-%d", kind, pid)
	}
	return asked, instance.ValidateName(asked)
}
