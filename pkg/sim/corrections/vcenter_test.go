package corrections

import (
	"context"
	"slices"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// vcenter is a bare vcsim with the corrections, and a client inside the process.
type vcenter struct {
	t           testing.TB
	base        *simulator.Context
	corrections *Corrections
	client      *vim25.Client
	find        *find.Finder
}

// start makes one datacenter with a cluster of three hosts, a standalone host, a distributed switch, a pool, a vApp and
// six VMs in a folder.
func start(t testing.TB, without ...stock.Behavior) *vcenter {
	t.Helper()
	m := simulator.VPX()
	m.Folder, m.Pool, m.App, m.Machine, m.Autostart = 1, 1, 1, 2, false
	t.Cleanup(m.Remove)
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	base := m.Service.Context
	c := Install(base, Options{Stock: without})
	t.Cleanup(func() { c.Close(base) })
	base.Map.Handler = func(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if fault := c.Check(ctx, method); fault != nil {
			return nil, fault
		}
		c.Redirect(ctx, method)
		return nil, nil
	}
	client, err := vim25.NewClient(t.Context(), m.Service)
	if err != nil {
		t.Fatal(err)
	}
	v := &vcenter{t: t, base: base, corrections: c, client: client, find: find.NewFinder(client)}
	dc, err := v.find.DefaultDatacenter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.find.SetDatacenter(dc)
	return v
}

func (v *vcenter) ref(path string) vc.Ref {
	v.t.Helper()
	all, err := v.find.ManagedObjectList(v.t.Context(), path)
	if err != nil || len(all) != 1 {
		v.t.Fatalf("%s: %d objects, %v", path, len(all), err)
	}
	return all[0].Object.Reference()
}

func (v *vcenter) vms() []*object.VirtualMachine {
	v.t.Helper()
	all, err := v.find.VirtualMachineList(v.t.Context(), "/...")
	if err != nil {
		v.t.Fatal(err)
	}
	return all
}

func (v *vcenter) destroy(ref vc.Ref) error {
	return finish(context.Background(), func() (*object.Task, error) {
		return object.NewCommon(v.client, ref).Destroy(context.Background())
	})
}

func finish(ctx context.Context, start func() (*object.Task, error)) error {
	task, err := start()
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

// faultOf is the fault in an error, of a call or of a task.
func faultOf(err error) types.AnyType {
	if err == nil {
		return nil
	}
	if soap.IsSoapFault(err) {
		return soap.ToSoapFault(err).VimFault()
	}
	if soap.IsVimFault(err) {
		return soap.ToVimFault(err)
	}
	if t, ok := err.(interface{ Fault() types.BaseMethodFault }); ok {
		return t.Fault()
	}
	return err
}

// checkReferences fails the test for every reference in a list to an object that is not there.
func (v *vcenter) checkReferences() {
	v.t.Helper()
	r := v.base.Map
	look := func(of mo.Reference, list string, refs []vc.Ref) {
		for _, ref := range refs {
			if r.Get(ref) == nil {
				v.t.Errorf("%s of %s has %s, which is gone", list, of.Reference(), ref)
			}
		}
	}
	for _, e := range r.All("") {
		ctx := vc.Fresh(v.base)
		ctx.WithLock(e, func() {
			if p := e.Entity().Parent; p != nil {
				look(e, "parent", []vc.Ref{*p})
			}
			look(e, "vm", vms(e))
			look(e, "childEntity", children(e))
			look(e, "resourcePool", pools(e))
			look(e, "datastore", datastores(e))
			look(e, "network", networksOf(e))
			look(e, "host", computeOf(e).Host)
			if vm, ok := e.(*simulator.VirtualMachine); ok {
				look(e, "datastore", vm.Datastore)
				look(e, "network", vm.Network)
				look(e, "host and pool", []vc.Ref{*vm.Runtime.Host, *vm.ResourcePool})
				for _, where := range []vc.Ref{*vm.Runtime.Host, *vm.ResourcePool} {
					if o := r.Get(where); o != nil && !slices.Contains(vms(o), vm.Self) {
						v.t.Errorf("%s does not list %s", where, vm.Self)
					}
				}
			}
		})
	}
}

func (v *vcenter) eventCollector() (vc.Ref, error) {
	res, err := methods.CreateCollectorForEvents(v.t.Context(), v.client, &types.CreateCollectorForEvents{
		This: *v.client.ServiceContent.EventManager, Filter: types.EventFilterSpec{MaxCount: 10},
	})
	if err != nil {
		return vc.Ref{}, err
	}
	return res.Returnval, nil
}

func (v *vcenter) events() ([]types.BaseEvent, error) {
	res, err := methods.QueryEvents(v.t.Context(), v.client, &types.QueryEvents{
		This: *v.client.ServiceContent.EventManager, Filter: types.EventFilterSpec{MaxCount: 1000},
	})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}
