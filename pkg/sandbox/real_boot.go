package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/front"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	journals "github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// startReal connects to the vCenters of the topology and opens a front before each.
func (s *Sandbox) startReal(ctx context.Context, ca *cert.CA) error {
	r := s.opts.Real
	s.real = &reality{connections: map[string]*vcenter.Connection{}}
	if err := r.Scope.Check(); err != nil {
		return err
	}
	if err := s.openWrites(); err != nil {
		return err
	}
	chosen := slices.DeleteFunc(r.named(), func(v vcenter.VCenter) bool { return s.recorded(v.Name) == nil })
	if len(chosen) == 0 {
		return errors.New("the topology has none of the configured vCenters: it was not read from them")
	}
	listeners, _, err := loopback.Listen(ctx, s.opts.Addresses, len(chosen), s.opts.VCenterPort)
	if err != nil {
		return err
	}
	for i, v := range chosen {
		if err := s.attachReal(ctx, v, listeners[i], ca); err != nil {
			for _, l := range listeners[i:] {
				_ = l.Close() // closed already, or nothing was accepted from it
			}
			return err
		}
	}
	return s.revertLeft(ctx)
}

// recorded is the vCenter of that name in the topology; nil when there is none.
func (s *Sandbox) recorded(name string) *topology.VCenter {
	all := s.opts.Topology.Spec.VCenters
	if i := slices.IndexFunc(all, func(v topology.VCenter) bool { return v.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// attachReal connects to one vCenter, twice: past everything, to look at what is about to be changed, and as whoever runs the
// sandbox, whose calls the guard sees.
func (s *Sandbox) attachReal(ctx context.Context, v vcenter.VCenter, l *net.TCPListener, ca *cert.CA) error {
	direct, err := v.Connect(ctx, vcenter.Options{UserAgent: userAgent, Logger: s.opts.Logger})
	if err != nil {
		return err
	}
	s.real.connections[v.Name] = direct
	real := &realVCenter{is: v, login: s.loginOf(v)}
	if _, err := real.login(ctx); err != nil {
		return err
	}
	err = direct.Do(ctx, func(_ context.Context, vim *vim25.Client) error {
		real.about = vim.ServiceContent.About
		return nil
	})
	if err != nil {
		return err
	}
	if want := s.recorded(v.Name).InstanceUUID; want != "" && !strings.EqualFold(want, real.about.InstanceUuid) {
		return fmt.Errorf("%v: is another vCenter (instance UUID %s) than the one that was read (%s)", v, real.about.InstanceUuid, want)
	}
	w := &vcenters.VCenter{Endpoint: real, Inventory: s.newInventory(v.Name), Real: s.inventory().Real()}
	real.Front, err = front.New(front.Options{
		VCenter: v, Listener: l, CA: ca, Names: s.vcenterNames(v.Name), Logger: s.opts.Logger,
		Guard:      &guard.Guard{Scope: s.opts.Real.Scope, Journal: s.real.journal, Connection: direct, Wrote: s.wrote},
		OnMode:     func(from, to gate.Mode) { s.gateChanged(v.Name, from, to) },
		OnSession:  s.knowSession,
		ObjectName: func(o types.ManagedObjectReference) string { return nameIn(w.Inventory, o) },
	})
	if err != nil {
		return err
	}
	s.real.fronts = append(s.real.fronts, real.Front)
	w.Client, err = client.New(client.Config{
		Name: v.Name, Server: real.Host(), Port: real.Port(), CAData: ca.Cert, UserAgent: userAgent,
		Credentials: real.login, CallTimeout: vcenter.Patience, Logger: s.opts.Logger,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return real.DialConsole(ctx) },
	})
	if err != nil {
		return err
	}
	s.vcenters = append(s.vcenters, w)
	return nil
}

// stopReal takes back what was written, and leaves the vCenters alone from then on. The fronts go first: a write that came
// through while others are taken back would be nobody's to take back any more.
func (s *Sandbox) stopReal(ctx context.Context) error {
	var errs []error
	for _, f := range s.real.fronts {
		errs = append(errs, f.Close(ctx))
	}
	errs = append(errs, s.closeWrites())
	for _, c := range s.real.connections {
		c.Close()
	}
	return errors.Join(errs...)
}

// wrote puts a write that was let through into the log.
func (s *Sandbox) wrote(vm inventory.VM, do, undo journals.Action) {
	end := "when the sandbox ends: " + guard.Words(undo)
	if s.opts.Real.Keep {
		end = "that is kept"
	}
	s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "vcenter.written",
		Object:  event.Object{Kind: "VM", VCenter: vm.VCenter, Name: vm.Name},
		Message: fmt.Sprintf("the real VM %s is to be %s; %s", vm.Path, guard.Words(do), end),
	})
}

// gateChanged is for gates of real vCenters what a simulated one says of its own.
func (s *Sandbox) gateChanged(vcenter string, from, to gate.Mode) {
	level := event.Warning
	if to.State == gate.Up {
		level = event.Info
	}
	s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: "gate." + string(to.State),
		Object:  event.Object{Kind: "VCenter", VCenter: vcenter, Name: vcenter},
		Message: fmt.Sprintf("vCenter's API was %s, is %s", from, to),
	})
}

// nameIn is the name of an object that is watched, "" for others.
func nameIn(inventory *world.Inventory, o ref) string {
	if o.Type == "VirtualMachine" {
		vm, _ := inventory.VM(o)
		return vm.Name
	}
	for _, item := range inventory.Items(o.Type) {
		if item.Ref == o {
			return item.Name
		}
	}
	return ""
}
