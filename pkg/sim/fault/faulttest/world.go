package faulttest

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// World is what [Start] returns: vCenters with sessions for the test ([sim.Lab.Client]), and the ground that they form.
type World struct {
	*sim.Lab
	// Ground is the ground of the faults. Before the first injection a test may change it: set a cluster ([NewCluster]) or
	// processes ([NewProcesses]).
	Ground *fault.Ground

	lister lister
	mu     sync.Mutex
	engine *fault.Engine
}

// speed is the speed of the grounds.
const speed pace.Speed = 10

// Start runs the vCenters of a topology, given as a path or a text, until the test ends.
func Start(t sim.TB, source string, settings ...topology.Setting) *World {
	t.Helper()
	return on(t, sim.Start(t, source, settings...))
}

// StartWith is [Start] with options.
func StartWith(t sim.TB, opts sim.Options) *World {
	t.Helper()
	return on(t, sim.StartWith(t, opts))
}

func on(t sim.TB, lab *sim.Lab) *World {
	t.Helper()
	w := &World{Lab: lab}
	w.Ground = &fault.Ground{
		Items:      w.items,
		Categories: lab.Topology().Spec.Categories,
		Speed:      speed,
		Events:     lab.Events,
	}
	for _, vc := range lab.VCenters() {
		w.Ground.VCenters = append(w.Ground.VCenters, fault.Reach(connect(t, vc, lab.CA()), vc))
	}
	w.lister = newLister(lab.Topology(), w.Ground)
	return w
}

// connect returns a connection to a vCenter, past its gate, until the test ends.
func connect(t sim.TB, vc *sim.VCenter, ca []byte) *vcenter.Client {
	t.Helper()
	client, err := vcenter.New(vcenter.Config{
		Name: vc.Name(), Server: vc.Host(), Port: vc.Port(), CAData: ca, UserAgent: "faulttest",
		Credentials: func(context.Context) (vcenter.Credentials, error) {
			password, _ := vc.Console().Password()
			return vcenter.Credentials{User: vc.Console().Username(), Password: password}, nil
		},
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return vc.DialConsole(ctx) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { _ = client.Run(ctx) }) // returns nil
	t.Cleanup(func() { cancel(); wg.Wait() })
	soon, done := context.WithTimeout(t.Context(), 30*time.Second)
	defer done()
	if _, err := client.Wait(soon); err != nil {
		t.Fatal(err)
	}
	return client
}

// Engine returns the world's engine, which all its methods use. It has the kinds of the first call, and heals all leases at the
// end of the test.
func (w *World) Engine(t sim.TB, kinds []*fault.Kind) *fault.Engine {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.engine != nil {
		return w.engine
	}
	w.engine = fault.NewEngine(fault.Options{Ground: w.Ground, Kinds: kinds, Retry: 50 * time.Millisecond})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := w.engine.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return w.engine
}

// Happened returns the events of a kind, oldest first.
func (w *World) Happened(kind string) []event.Event {
	all, _ := w.Events.Read(0, 0)
	var list []event.Event
	for _, e := range all {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}
