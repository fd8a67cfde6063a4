package host_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
)

type ref = types.ManagedObjectReference

// rig is a plain vcsim with our hosts in it, and a client without a network.
type rig struct {
	t      testing.TB
	base   *simulator.Context
	client *vim25.Client
	hosts  *host.Hosts
	log    *event.Log
}

// setup builds a datacenter with one cluster of three hosts and a standalone host, two VMs that are on in each.
func setup(t testing.TB, opts host.Options, change ...func(*simulator.Model)) *rig {
	t.Helper()
	m := simulator.VPX()
	m.Host, m.Cluster, m.ClusterHost, m.Machine = 1, 1, 3, 2
	for _, f := range change {
		f(m)
	}
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	r := &rig{t: t, base: m.Service.Context, log: event.NewLog(0)}
	opts.Events, opts.VCenter = r.log, "vc"
	r.hosts = host.Install(r.base, opts)
	t.Cleanup(r.hosts.Close)
	r.base.Map.Handler = func(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if f := r.hosts.Check(ctx, m); f != nil {
			return nil, f
		}
		r.hosts.Redirect(ctx, m)
		return nil, nil
	}
	c, err := vim25.NewClient(t.Context(), m.Service)
	if err != nil {
		t.Fatal(err)
	}
	r.client = c
	return r
}

// all lists the objects of a type by name.
func all[T any](r *rig, kind string, name func(T) string, paths ...string) []T {
	r.t.Helper()
	var refs []ref
	for _, e := range r.base.Map.AllReference(kind) {
		refs = append(refs, e.Reference())
	}
	var found []T
	if len(refs) > 0 {
		if err := property.DefaultCollector(r.client).Retrieve(r.t.Context(), refs, paths, &found); err != nil {
			r.t.Fatal(err)
		}
	}
	slices.SortFunc(found, func(a, b T) int { return strings.Compare(name(a), name(b)) })
	return found
}

func (r *rig) allHosts() []mo.HostSystem {
	return all(r, "HostSystem", func(h mo.HostSystem) string { return h.Name }, "name", "parent", "vm", "runtime", "summary.runtime", "overallStatus", "summary.overallStatus")
}

func (r *rig) allVMs() []mo.VirtualMachine {
	return all(r, "VirtualMachine", func(v mo.VirtualMachine) string { return v.Name }, "name", "runtime", "summary.runtime", "datastore")
}

func (r *rig) host(name string) mo.HostSystem {
	r.t.Helper()
	for _, h := range r.allHosts() {
		if h.Name == name {
			return h
		}
	}
	r.t.Fatalf("no host %s", name)
	return mo.HostSystem{}
}

func (r *rig) hostOf(vm ref) *object.HostSystem {
	return object.NewHostSystem(r.client, *r.vm(vm).Runtime.Host)
}

func (r *rig) vm(vm ref) mo.VirtualMachine {
	r.t.Helper()
	var m mo.VirtualMachine
	if err := property.DefaultCollector(r.client).RetrieveOne(r.t.Context(), vm, []string{"name", "runtime", "summary.runtime", "datastore"}, &m); err != nil {
		r.t.Fatal(err)
	}
	return m
}

// clustered returns the hosts of the cluster and a VM on the first of them that has one.
func (r *rig) clustered() (hosts []*object.HostSystem, vm ref) {
	for _, h := range r.allHosts() {
		if h.Parent.Type == "ClusterComputeResource" {
			hosts = append(hosts, object.NewHostSystem(r.client, h.Self))
			if vm == (ref{}) && len(h.Vm) > 0 {
				vm = h.Vm[0]
			}
		}
	}
	return hosts, vm
}

func (r *rig) cluster() (c mo.ClusterComputeResource) {
	return all(r, "ClusterComputeResource", func(c mo.ClusterComputeResource) string { return c.Name }, "name", "summary", "overallStatus", "host")[0]
}

// done waits for a task that must succeed.
func done(t testing.TB) func(*object.Task, error) {
	t.Helper()
	return func(task *object.Task, err error) {
		t.Helper()
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// refused waits for a task that must fail with the fault.
func refused(t testing.TB, want types.BaseMethodFault) func(*object.Task, error) {
	t.Helper()
	return func(task *object.Task, err error) {
		t.Helper()
		if err == nil {
			err = task.Wait(t.Context())
		}
		if !fault.Is(err, want) {
			t.Errorf("got %v, want a %T", err, want)
		}
	}
}

// kinds lists the kinds of our events after seq, about objects of a kind.
func (r *rig) kinds(object string, after uint64) (kinds []string) {
	events, _ := r.log.Read(after, 0)
	for _, e := range events {
		if e.Object.Kind == object {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// events returns the vCenter's event history, oldest first.
func (r *rig) events() []types.BaseEvent {
	r.t.Helper()
	res, err := methods.QueryEvents(r.t.Context(), r.client, &types.QueryEvents{
		This: r.base.Map.EventManager().Self, Filter: types.EventFilterSpec{MaxCount: 1000},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Reverse(res.Returnval)
	return res.Returnval
}

// history lists the types of the vCenter's events after the first n (an EventEx by its id), and checks that each says
// where it happened and has a text.
func (r *rig) history(n int) (kinds []string) {
	r.t.Helper()
	for _, e := range r.events()[n:] {
		b := e.GetEvent()
		kind := reflect.TypeOf(e).Elem().Name()
		if x, ok := e.(*types.EventEx); ok {
			kind = x.EventTypeId
		}
		if b.FullFormattedMessage == "" || b.Datacenter == nil || b.Datacenter.Name == "" || b.Host == nil && b.Ds == nil {
			r.t.Errorf("%s: %+v", kind, b)
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// await waits until our log has an event of that kind.
func (r *rig) await(kind string) event.Event {
	r.t.Helper()
	for after := uint64(0); ; {
		events, _, err := r.log.Wait(r.t.Context(), after, 0)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range events {
			if e.Kind == kind {
				return e
			}
			after = e.Seq
		}
	}
}

// checkLists compares the lists of VMs of all hosts with where the VMs say they are.
func checkLists(r *rig) {
	r.t.Helper()
	want, got := map[ref][]ref{}, map[ref][]ref{}
	for _, v := range r.allVMs() {
		want[*v.Runtime.Host] = append(want[*v.Runtime.Host], v.Self)
		if *v.Summary.Runtime.Host != *v.Runtime.Host {
			r.t.Errorf("VM %s: on host %s, in the summary %s", v.Name, v.Runtime.Host.Value, v.Summary.Runtime.Host.Value)
		}
	}
	for _, h := range r.allHosts() {
		if len(h.Vm) > 0 {
			got[h.Self] = h.Vm
		}
	}
	for _, m := range []map[ref][]ref{want, got} {
		for _, l := range m {
			slices.SortFunc(l, func(a, b ref) int { return strings.Compare(a.Value, b.Value) })
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("lists of VMs -want +got:\n%s", diff)
	}
}
