package real

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/front"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	journals "github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// Source implements [vcenters.Source].
type Source struct {
	*Options
	boot vcenters.Boot
	list vcenters.List

	// connections bypass gate and guard: they read a VM before a write, and revert it.
	connections map[string]*vcenter.Connection
	fronts      []*front.Front
	journal     *journals.Journal // nil where nothing may be written
	own         bool              // this sandbox has written all that is in the journal
}

// New returns a source that has not started.
func New(o *Options) *Source {
	return &Source{Options: o, connections: map[string]*vcenter.Connection{}}
}

// Start implements [vcenters.Source]: it connects to the vCenters of the topology and opens a front before each.
func (s *Source) Start(ctx context.Context, b vcenters.Boot) (vcenters.List, error) {
	s.boot = b
	if err := s.Scope.Check(); err != nil {
		return nil, err
	}
	if err := s.openWrites(); err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(named(s.Config), func(v vcenter.VCenter) bool { return s.recorded(v.Name) == nil })
	if len(chosen) == 0 {
		return nil, errors.New("the topology has none of the configured vCenters: it was not read from them")
	}
	listeners, _, err := loopback.Listen(ctx, b.Place, len(chosen))
	if err != nil {
		return nil, err
	}
	for i, v := range chosen {
		if err := s.attach(ctx, v, listeners[i]); err != nil {
			for _, l := range listeners[i:] {
				_ = l.Close() // closed already, or nothing was accepted from it
			}
			return nil, err
		}
	}
	return s.list, s.revertLeft(ctx)
}

// recorded returns the vCenter with that name in the topology; nil without one.
func (s *Source) recorded(name string) *topology.VCenter {
	all := s.boot.Topology.Spec.VCenters
	if i := slices.IndexFunc(all, func(v topology.VCenter) bool { return v.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// attach connects to one vCenter twice: directly, to read a VM before a write, and through the front, so that the guard sees
// the calls of the sandbox itself.
func (s *Source) attach(ctx context.Context, v vcenter.VCenter, l *net.TCPListener) error {
	direct, err := v.Connect(ctx, vcenter.Options{UserAgent: vcenters.UserAgent, Logger: s.boot.Logger})
	if err != nil {
		return err
	}
	s.connections[v.Name] = direct
	e := &endpoint{vcenter: v, know: s.boot.AddSecret, inventory: s.boot.Inventory(v.Name)}
	if _, err := e.login(ctx); err != nil {
		return err
	}
	err = direct.Do(ctx, func(_ context.Context, vim *vim25.Client) error {
		e.about = vim.ServiceContent.About
		return nil
	})
	if err != nil {
		return err
	}
	if want := s.recorded(v.Name).InstanceUUID; want != "" && !strings.EqualFold(want, e.about.InstanceUuid) {
		return fmt.Errorf("%v: is another vCenter (instance UUID %s) than the one that was read (%s)", v, e.about.InstanceUuid, want)
	}
	e.Front, err = front.New(front.Options{
		VCenter: v, Listener: l, CA: s.boot.CA, Names: s.boot.Names(v.Name), Logger: s.boot.Logger,
		Guard:      &guard.Guard{Scope: s.Scope, Journal: s.journal, Connection: direct, Wrote: s.wrote},
		OnMode:     func(from, to gate.Mode) { s.gateChanged(v.Name, from, to) },
		OnSession:  s.boot.Session,
		ObjectName: func(o types.ManagedObjectReference) string { return objectName(e.inventory, o) },
	})
	if err != nil {
		return err
	}
	s.fronts = append(s.fronts, e.Front)
	c, err := client.New(client.Config{
		Name: v.Name, Server: e.Host(), Port: e.Port(), CAData: s.boot.CA.Cert, UserAgent: vcenters.UserAgent,
		Credentials: e.login, CallTimeout: vcenter.Patience, Logger: s.boot.Logger,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.DialConsole(ctx) },
	})
	if err != nil {
		return err
	}
	s.list = append(s.list, &vcenters.VCenter{
		Endpoint: e, Client: c, Inventory: e.inventory, Real: s.Ground().Real(), Chosen: newFilter(s.Selection, s.boot.Topology, v.Name),
	})
	return nil
}

// Stop implements [vcenters.Source]: it reverts what was written. The fronts close first, because a write that arrives during
// the revert would not be reverted.
func (s *Source) Stop(ctx context.Context) error {
	var errs []error
	for _, f := range s.fronts {
		errs = append(errs, f.Close(ctx))
	}
	errs = append(errs, s.closeWrites())
	for _, c := range s.connections {
		c.Close()
	}
	return errors.Join(errs...)
}

// Ground implements [vcenters.Source].
func (s *Source) Ground() api.Ground {
	return api.Ground{Inventory: api.InventoryReal, Writable: s.Scope.AllowWrites}
}

// slowTime is how long a step may take for each vCenter: one may take half a minute for an answer, and a step may send a dozen
// requests.
const slowTime = 10 * time.Minute

// StepTime implements [vcenters.Source].
func (s *Source) StepTime() time.Duration {
	if s.Config == nil {
		return slowTime
	}
	return slowTime * time.Duration(max(1, len(s.Config.VCenters)))
}

// Args implements [vcenters.Source]: programs wait for an answer as long as the sandbox does.
func (*Source) Args() []string {
	return []string{"--vcenter-call-timeout=" + vcenter.Patience.String()}
}

// CloudConfig implements [vcenters.Source]: it has the addresses of the fronts and the datacenters of the chosen VMs. It has
// the categories of regions and zones when any node has both.
func (s *Source) CloudConfig(at sim.CloudConfig) ([]byte, error) {
	top, tenants := s.boot.Topology, map[string]any{}
	for _, vc := range s.list {
		var datacenters []string
		for _, dc := range s.recorded(vc.Name()).Datacenters {
			datacenters = append(datacenters, dc.InventoryPath())
		}
		host, port := vc.Host(), vc.Port()
		if at.Reach != nil {
			host, port = at.Reach(vc.Name())
		}
		tenants[vc.Name()] = map[string]any{"server": host, "port": port, "datacenters": datacenters}
	}
	conf := map[string]any{
		"global": map[string]any{
			"insecureFlag": false, "caFile": at.CAFile, "secretName": at.SecretName, "secretNamespace": at.SecretNamespace,
		},
		"vcenter": tenants,
	}
	if top.Zoned() {
		conf["labels"] = map[string]any{"region": top.Spec.Categories.Region, "zone": top.Spec.Categories.Zone}
	}
	return yaml.Marshal(conf)
}

// CSIConfig implements [vcenters.Source].
func (s *Source) CSIConfig(sim.CSIConfig) ([]byte, error) {
	return nil, vcenters.OnlySimulated(s.list[0].Name(), "a configuration of upstream's CSI driver")
}

// Builder implements [vcenters.Source].
func (s *Source) Builder() (vcenters.Builder, error) {
	return nil, vcenters.OnlySimulated(s.list[0].Name(), "topology apply builds and changes an inventory")
}

// wrote logs a write that the guard has allowed.
func (s *Source) wrote(vm inventory.VM, do, undo journals.Action) {
	end := "when the sandbox ends: " + guard.DescribeVM(undo)
	if s.Keep {
		end = "that is kept"
	}
	s.boot.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "vcenter.written",
		Object:  event.Object{Kind: "VM", VCenter: vm.VCenter, Name: vm.Name},
		Message: fmt.Sprintf("the real VM %s will be %s; %s", vm.Path, guard.DescribeVM(do), end),
	})
}

// gateChanged logs what a simulated vCenter logs of its gate.
func (s *Source) gateChanged(vcenter string, from, to gate.Mode) {
	level := event.Warning
	if to.State == gate.Up {
		level = event.Info
	}
	s.boot.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: "gate." + string(to.State),
		Object:  event.Object{Kind: "VCenter", VCenter: vcenter, Name: vcenter},
		Message: fmt.Sprintf("vCenter's API was %s, is %s", from, to),
	})
}

// objectName returns the name of a watched object, "" for others.
func objectName(inventory *world.Inventory, o types.ManagedObjectReference) string {
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
