package react_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/react"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

type ref = types.ManagedObjectReference

// rig is a plain vcsim with our hosts, guests and reactions, and a client without a network.
type rig struct {
	t         testing.TB
	base      *simulator.Context
	client    *vim25.Client
	hosts     *host.Hosts
	guests    *guest.Guests
	reactions *react.Reactions
	log       *event.Log
}

// setup builds one cluster of three hosts with vms VMs that are on.
func setup(t testing.TB, vms int, reactions topology.Reactions, infos func(*rig) map[ref]guest.Info) *rig {
	t.Helper()
	m := simulator.VPX()
	m.Host, m.Cluster, m.ClusterHost, m.Machine = 0, 1, 3, vms
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	r := &rig{t: t, base: m.Service.Context, log: event.NewLog(0)}
	var known map[ref]guest.Info
	if infos != nil {
		known = infos(r)
	}
	r.guests = guest.Start(r.base, known, guest.Options{VCenter: "vc", Events: r.log})
	r.hosts = host.Install(r.base, host.Options{VCenter: "vc", Events: r.log, Causing: r.guests.CausingRef})
	r.reactions = react.Start(r.base, react.Options{
		VCenter: "vc", Reactions: reactions, Hosts: r.hosts, Renew: r.guests.Renew, Events: r.log,
	})
	t.Cleanup(func() {
		r.reactions.Close()
		r.reactions.Close()
		r.hosts.Close()
		r.guests.Close()
	})
	r.base.Map.Handler = func(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if f := r.hosts.Check(ctx, m); f != nil {
			return nil, f
		}
		if !r.guests.Redirect(ctx, m) {
			r.hosts.Redirect(ctx, m)
		}
		return nil, nil
	}
	c, err := vim25.NewClient(t.Context(), m.Service)
	if err != nil {
		t.Fatal(err)
	}
	r.client = c
	return r
}

// names sorts the objects of a type by name.
func (r *rig) refs(kind string) (refs []ref) {
	all := r.base.Map.All(kind)
	slices.SortFunc(all, func(a, b mo.Entity) int { return strings.Compare(a.Entity().Name, b.Entity().Name) })
	for _, e := range all {
		refs = append(refs, e.Reference())
	}
	return refs
}

// vm reads what a VM is now.
func (r *rig) vm(v ref) (m mo.VirtualMachine) {
	obj := r.base.Map.Get(v).(*simulator.VirtualMachine)
	ctx := *r.base
	ctx.WithLock(obj, func() {
		m = obj.VirtualMachine
		guest := *obj.Guest
		m.Guest = &guest
	})
	return m
}

// on lists the VMs of a host that are on and connected.
func (r *rig) on(h ref) (vms []ref) {
	for _, v := range r.refs("VirtualMachine") {
		s := r.vm(v).Runtime
		if *s.Host == h && s.PowerState == types.VirtualMachinePowerStatePoweredOn && s.ConnectionState == types.VirtualMachineConnectionStateConnected {
			vms = append(vms, v)
		}
	}
	return vms
}

// checkLists compares the lists of VMs of all hosts with where the VMs say they are.
func (r *rig) checkLists() {
	r.t.Helper()
	want, got := map[string][]string{}, map[string][]string{}
	for _, v := range r.refs("VirtualMachine") {
		m := r.vm(v)
		want[m.Runtime.Host.Value] = append(want[m.Runtime.Host.Value], v.Value)
	}
	for _, h := range r.refs("HostSystem") {
		obj := r.base.Map.Get(h).(*simulator.HostSystem)
		ctx := *r.base
		ctx.WithLock(obj, func() {
			for _, v := range obj.Vm {
				got[h.Value] = append(got[h.Value], v.Value)
			}
		})
	}
	for _, m := range []map[string][]string{want, got} {
		for _, l := range m {
			slices.Sort(l)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("lists of VMs -want +got:\n%s", diff)
	}
}

func (r *rig) kinds(object string) (kinds []string) {
	events, _ := r.log.Read(0, 0)
	for _, e := range events {
		if e.Object.Kind == object {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// history lists the types of the vCenter's events, of an EventEx its id.
func (r *rig) history() (kinds []string) {
	r.t.Helper()
	res, err := methods.QueryEvents(r.t.Context(), r.client, &types.QueryEvents{
		This: r.base.Map.EventManager().Self, Filter: types.EventFilterSpec{MaxCount: 1000},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range slices.Backward(res.Returnval) {
		switch e := e.(type) {
		case *types.EventEx:
			kinds = append(kinds, e.EventTypeId)
		case *types.VmFailoverFailed:
			kinds = append(kinds, "VmFailoverFailed")
		case *types.DrsVmMigratedEvent:
			kinds = append(kinds, "DrsVmMigratedEvent")
		}
	}
	return kinds
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// done waits for a task that must succeed.
func done(t testing.TB) func(*object.Task, error) {
	t.Helper()
	return func(task *object.Task, err error) {
		t.Helper()
		if err == nil {
			err = task.Wait(t.Context())
		}
		must(t, err)
	}
}
