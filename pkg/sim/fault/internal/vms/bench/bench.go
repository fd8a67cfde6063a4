// Package bench tests the kinds of faults of VMs: what a client of the vSphere API sees of a VM before a fault, during it, and
// afterwards.
//
// Floor 2, for tests only.
package bench

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

// T is the part of *testing.T that the package uses.
type T interface {
	sim.TB
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
	Failed() bool
}

// VM is a VM in a running world. Create one with [Start].
type VM struct {
	*faulttest.World
	Processes *faulttest.Processes
	Item      fault.Item
	Path      string
	Ref       types.ManagedObjectReference

	client *govmomi.Client
	rest   *rest.Client
	// The original identity.
	uuid, instance, hostname, ip string
}

// Start runs the vCenters of [Topology], and returns the VM with that name. node-1 has a custom attribute.
func Start(t T, name string) *VM {
	t.Helper()
	b := &VM{World: faulttest.Start(t, Topology)}
	b.Processes = faulttest.NewProcesses("node/node-1.example.org", "node/node-2", "node/node-3", "node/node-4")
	b.Ground.Processes = b.Processes
	items, err := b.Ground.Items(t.Context(), fault.VM)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range items {
		if i.Name == name {
			b.Item, b.Path, b.Ref = i, i.Path, i.Ref
		}
	}
	b.client, b.rest = b.Client(b.Item.VCenter), b.REST(b.Item.VCenter)
	vm, err := b.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.uuid, b.instance, b.hostname, b.ip = vm.Config.Uuid, vm.Config.InstanceUuid, vm.Guest.HostName, vm.Guest.IpAddress
	if name == "node-1" {
		fields, err := object.GetCustomFieldsManager(b.client.Client)
		if err != nil {
			t.Fatal(err)
		}
		def, err := fields.Add(t.Context(), "team", "VirtualMachine", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := fields.Set(t.Context(), b.Ref, def.Key, "red"); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// Other finds another VM by its inventory path.
func (b *VM) Other(t T, vcenter, path string) *object.VirtualMachine {
	t.Helper()
	vm, err := find.NewFinder(b.Client(vcenter).Client, true).VirtualMachine(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// Until waits until the portrait of the VM is as wanted, following its properties.
func (b *VM) Until(t T, want func(Snapshot) bool) Snapshot {
	t.Helper()
	now := b.Snapshot(t)
	if want(now) {
		return now
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_ = property.Wait(ctx, property.DefaultCollector(b.client.Client), b.Ref, []string{"guest", "runtime", "config"}, func([]types.PropertyChange) bool {
		p, err := b.look(ctx)
		if err != nil {
			return false
		}
		now = p
		return want(now)
	}) // the caller compares the portrait
	return now
}

// Case is one fault on one VM.
type Case struct {
	Name string // of the test; empty: the kind
	Kind string
	On   string // empty: node-1
	// Before prepares the VM.
	Before func(T, *VM)
	Params map[string]string
	// PlanText is the description in the plan.
	PlanText string
	// Effect compares the VM with its previous portrait.
	Effect func(t T, b *VM, was, now Snapshot)
	// Differs lists properties that may differ afterward.
	Differs []string
}

// Title is the name of the case's test.
func (c *Case) Title() string { return strings.TrimSpace(c.Kind + " " + c.Name) }

// Complete checks that each kind has a case and a complete description.
func Complete(t T, kinds []*fault.Kind, cases []Case) {
	t.Helper()
	for _, k := range kinds {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Kind == k.Name }) {
			t.Errorf("%s is not tried", k.Name)
		}
		check(t, k)
	}
}

// Try injects the fault and heals it, and compares the VM with what it was.
func (c *Case) Try(t T, kinds []*fault.Kind) {
	t.Helper()
	b := Start(t, cmp.Or(c.On, "node-1"))
	if c.Before != nil {
		c.Before(t, b)
	}
	was := b.Snapshot(t)
	request := fault.Request{Kind: c.Kind, On: faulttest.On(b.Item.Path), Params: c.Params, Seed: 7}
	planned := b.Plan(t, kinds, request)
	if diff := Diff(was, b.Snapshot(t)); diff != "" {
		t.Errorf("the plan changed something (-was +now):\n%s", diff)
	}
	lease := b.Inject(t, kinds, request)
	does := lease.Targets[0].Effect
	if does != planned.Targets[0].Effect || !strings.Contains(does, c.PlanText) || does == "" {
		t.Errorf("does %q, planned %q, want %q", does, planned.Targets[0].Effect, c.PlanText)
	}
	c.Effect(t, b, was, b.Snapshot(t))
	if t.Failed() {
		t.Logf("changed (-was +now):\n%s", Diff(was, b.Snapshot(t)))
	}
	if lease.State == fault.Healed {
		return // momentary
	}
	b.Heal(t, lease.ID)
	same := func(p Snapshot) bool {
		for _, path := range c.Differs {
			delete(p, path)
			delete(was, path)
		}
		return Diff(was, p) == ""
	}
	if now := b.Until(t, same); !same(now) {
		t.Errorf("healed, and not as before (-was +now):\n%s", Diff(was, now))
	}
}

// check checks the description of a kind.
func check(t T, k *fault.Kind) {
	t.Helper()
	if k.Object != fault.VM || k.Short == "" || k.Long == "" || strings.HasSuffix(k.Short, ".") || !strings.HasSuffix(k.Long, ".") {
		t.Errorf("%s: %s: %q, %q", k.Name, k.Object, k.Short, k.Long)
	}
	for _, p := range k.Params {
		if p.Short == "" || p.Name == "" {
			t.Errorf("%s: parameter %+v", k.Name, p)
		}
	}
}

// Refusal is a fault that must be refused.
type Refusal struct {
	Name    string
	Kind    string
	On      string
	Before  func(T, *VM)
	Params  map[string]string
	Code    string // empty: conflict
	Message string
}

// Title is the name of the case's test.
func (c *Refusal) Title() string { return strings.TrimSpace(c.Kind + " " + c.Name) }

// Try injects the fault, and checks that nothing is touched.
func (c *Refusal) Try(t T, kinds []*fault.Kind) {
	t.Helper()
	b := Start(t, cmp.Or(c.On, "node-1"))
	if c.Before != nil {
		c.Before(t, b)
	}
	was, code := b.Snapshot(t), cmp.Or(c.Code, "conflict")
	r := b.Refused(t, kinds, fault.Request{Kind: c.Kind, On: faulttest.On(b.Item.Path), Params: c.Params})
	if r.Code != code || !strings.Contains(r.Message, c.Message) {
		t.Errorf("%s: %q; want %s: %q", r.Code, r.Message, code, c.Message)
	}
	if diff := Diff(was, b.Snapshot(t)); diff != "" {
		t.Errorf("touched (-was +now):\n%s", diff)
	}
}

// PowerOff powers the VM off.
func PowerOff(t T, b *VM) { b.do(t, (*object.VirtualMachine).PowerOff) }

// PowerOn powers it on.
func PowerOn(t T, b *VM) { b.do(t, (*object.VirtualMachine).PowerOn) }

// Destroy destroys it, on or off.
func Destroy(t T, b *VM) {
	t.Helper()
	vm := object.NewVirtualMachine(b.client.Client, b.Ref)
	if state, err := vm.PowerState(t.Context()); err == nil && state != types.VirtualMachinePowerStatePoweredOff {
		PowerOff(t, b)
	}
	b.do(t, func(vm *object.VirtualMachine, ctx context.Context) (*object.Task, error) { return vm.Destroy(ctx) })
}

func (b *VM) do(t T, f func(*object.VirtualMachine, context.Context) (*object.Task, error)) {
	t.Helper()
	task, err := f(object.NewVirtualMachine(b.client.Client, b.Ref), t.Context())
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Topology has VMs of every sort: node-1 with everything, node-2 beside it, node-3 in another zone and datacenter, node-4 in
// another vCenter, one that is off, one without tools, one with snapshots, and a template.
const Topology = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  tagCategories:
    - {name: class, cardinality: multiple, types: [VirtualMachine]}
  vcenters:
    - name: us
      datacenters:
        - name: west
          region: us
          zone: us-west
          networks: [{name: nodes, cidr: 10.0.0.0/24}, {name: storage}]
          switches: [{name: dvs, portGroups: [{name: pods}]}]
          datastores:
            - {name: shared, capacity: 2Ti}
            - {name: local-3, capacity: 100Gi, clusters: [c2]}
          clusters:
            - {name: c1, hosts: [{name: "esx-{n}", replicas: 2}], pools: [{name: prod}]}
            - {name: c2, zone: us-attic, hosts: [{name: esx-3}]}
          vms:
            - name: node-1
              host: esx-1
              pool: prod
              folder: k8s/workers
              role: worker
              hostname: node-1.example.org
              cpus: 4
              memory: 8Gi
              datastore: shared
              guestInfo: "yes"
              tags: [{category: class, name: gold}, {category: class, name: silver}]
              extraConfig: [{key: guestinfo.owner, value: team-a}]
              nics:
                - {network: nodes, addresses: [10.0.0.11/24, "2001:db8::11/64"]}
                - {network: storage, addresses: [10.1.0.11/24]}
                - {network: pods, addresses: [10.2.0.11/24]}
            - {name: node-2, host: esx-2, folder: k8s/workers, datastore: shared, role: worker, nics: [{network: nodes, addresses: [10.0.0.12/24]}]}
            - {name: off-1, host: esx-1, datastore: shared, power: "off"}
            - {name: mute-1, host: esx-1, datastore: shared, tools: "no"}
            - {name: snapped, host: esx-1, datastore: shared, snapshots: [{name: before}]}
            - {name: plain, host: esx-1, datastore: shared, nics: [{network: storage, addresses: ["2001:db8:1::5/64"]}]}
            - {name: tpl, host: esx-1, datastore: shared, template: "yes"}
        - name: east
          region: us
          zone: us-east
          networks: [{name: nodes}, {name: storage}]
          switches: [{name: dvs, portGroups: [{name: pods}]}]
          hosts: [{name: esx-9}]
          vms: [{name: node-3, role: worker}]
    - name: eu
      datacenters:
        - name: dc
          region: eu
          zone: eu-all
          hosts: [{name: esx-1}]
          vms: [{name: node-4, role: worker}]
`
