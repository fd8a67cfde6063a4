package vm

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms"
)

// moved is the original and the new place of a VM. Datastore and folder are set if they change.
type moved struct {
	From seat `json:"from"`
	To   seat `json:"to"`
}

type seat struct {
	Host      vms.Ref  `json:"host"`
	Pool      vms.Ref  `json:"pool"`
	Datastore *vms.Ref `json:"datastore,omitempty"`
	Folder    *vms.Ref `json:"folder,omitempty"`
}

func move() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "vm.move", Object: fault.VM, Aspect: touchesPlace,
		Short: "moves VMs to another host, cluster or zone, as vMotion does",
		Long: "The VM stays as it is, on or off. Its files move with it where the other host does not have their datastore. " +
			"Zone labels of the node are true no longer after a move to another zone, which Kubernetes does not allow for. " +
			"Healing moves it back.",
		Params: []fault.Param{
			{Name: "host", Short: "the host to move to", Type: fault.Text},
			{Name: "cluster", Short: "the compute cluster to move to", Type: fault.Text},
			{Name: "zone", Short: "the zone to move to; none of the three: another host of the same cluster", Type: fault.Text},
		},
		Reported: []string{"kubernetes#64021"},
	}, fault.Steps[moved]{
		Plan: func(ctx context.Context, c *fault.Call) (s moved, does string, err error) {
			err = vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error {
				s, does, err = planMove(ctx, c, vm)
				return err
			})
			return s, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, s *moved) error {
			return vms.On(ctx, c, func(ctx context.Context, vm *vms.VM) error { return s.To.take(ctx, c, vm) })
		},
		Revert: func(ctx context.Context, c *fault.Call, s *moved) error {
			return vms.OnExisting(ctx, c, func(ctx context.Context, vm *vms.VM) error {
				if s.From.has(vm) {
					return nil
				}
				return s.From.take(ctx, c, vm)
			})
		},
	})
}

func (s seat) has(vm *vms.VM) bool {
	return vm.Runtime.Host != nil && *vm.Runtime.Host == s.Host && vm.Pool != nil && *vm.Pool == s.Pool &&
		(s.Folder == nil || vm.Parent != nil && *vm.Parent == *s.Folder)
}

func (s seat) take(ctx context.Context, c *fault.Call, vm *vms.VM) error {
	return vms.LockFiles(ctx, c, func() error {
		t, err := vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &s.Host, Pool: &s.Pool, Datastore: s.Datastore, Folder: s.Folder},
			types.VirtualMachineMovePriorityDefaultPriority)
		return vms.WaitTask(ctx, t, err)
	})
}

func planMove(ctx context.Context, c *fault.Call, vm *vms.VM) (s moved, does string, err error) {
	if err := vm.Reachable(); err != nil {
		return s, "", err
	}
	if vm.Pool == nil || vm.Runtime.Host == nil {
		return s, "", fault.Refuse("vm %s: is on no host", vm.Name)
	}
	s.From = seat{Host: *vm.Runtime.Host, Pool: *vm.Pool}
	candidates, err := destinations(ctx, c, vm)
	if err != nil {
		return s, "", err
	}
	var why error
	for _, i := range c.Rand.Perm(len(candidates)) {
		h := candidates[i]
		to, err := settle(ctx, vm, s.From, h, c.Target.Cluster == h.Cluster && c.Target.Datacenter == h.Datacenter)
		if err != nil {
			why = err
			continue
		}
		s.To = to
		if to.Datastore != nil {
			s.From.Datastore = &vm.Datastores[0]
		}
		if c.Target.Datacenter != h.Datacenter {
			s.From.Folder = vm.Parent
		}
		return s, fmt.Sprintf("move from host %s to host %s", c.Target.Host, h.Name), nil
	}
	return s, "", why
}

// destinations returns the selected hosts without the VM's current one.
func destinations(ctx context.Context, c *fault.Call, vm *vms.VM) ([]fault.Item, error) {
	host, cluster, zone := c.Params.Text("host"), c.Params.Text("cluster"), c.Params.Text("zone")
	asked, what := 0, ""
	for _, p := range []string{"host", "cluster", "zone"} {
		if v := c.Params.Text(p); v != "" {
			asked++
			what = fmt.Sprintf("%s %q", p, v)
		}
	}
	if asked > 1 {
		return nil, &fault.Refusal{Code: "invalid", Message: "host, cluster and zone: one of them at most"}
	}
	hosts, err := c.Ground.Items(ctx, fault.Host)
	if err != nil {
		return nil, err
	}
	known := false
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h fault.Item) bool {
		fits := h.VCenter == c.Target.VCenter && (host == "" || h.Name == host || h.Path == host) &&
			(cluster == "" || h.Cluster == cluster) && (zone == "" || h.Zone == zone) &&
			(asked != 0 || h.Cluster == c.Target.Cluster && h.Datacenter == c.Target.Datacenter)
		known = known || fits
		return !fits || h.Ref == *vm.Runtime.Host
	})
	switch {
	case len(hosts) > 0:
		return hosts, nil
	case !known && asked > 0:
		return nil, &fault.Refusal{Code: "not-found", Message: fmt.Sprintf("%s: vcenter %s has no host there", what, c.Target.VCenter)}
	case asked > 0:
		return nil, fault.Refuse("vm %s: is there already (%s)", vm.Name, what)
	}
	return nil, fault.Refuse("vm %s: there is no other host in its cluster", vm.Name)
}

// settle finds a place for the VM on a host.
func settle(ctx context.Context, vm *vms.VM, from seat, item fault.Item, near bool) (s seat, _ error) {
	s = seat{Host: item.Ref, Pool: from.Pool}
	var h mo.HostSystem
	pc := property.DefaultCollector(vm.Client())
	if err := pc.RetrieveOne(ctx, item.Ref, []string{"parent", "runtime", "datastore"}, &h); err != nil {
		return s, err
	}
	if h.Runtime.ConnectionState != types.HostSystemConnectionStateConnected || h.Runtime.InMaintenanceMode {
		return s, fault.Refuse("host %s: is %s or in maintenance mode", item.Name, h.Runtime.ConnectionState)
	}
	if !near && h.Parent != nil {
		pool, err := rootPool(ctx, vm.Client(), *h.Parent)
		if err != nil {
			return s, err
		}
		s.Pool = pool
	}
	for _, ds := range vm.Datastores {
		if slices.Contains(h.Datastore, ds) {
			continue
		}
		if len(vm.Datastores) > 1 {
			return s, fault.Refuse("vm %s: has files on several datastores, not all of which host %s has", vm.Name, item.Name)
		}
		to, err := roomiest(ctx, vm.Client(), h.Datastore)
		if err != nil {
			return s, err
		}
		if to == nil {
			return s, fault.Refuse("host %s: has no datastore for the files of vm %s", item.Name, vm.Name)
		}
		s.Datastore = to
		break
	}
	return s, nil
}

func rootPool(ctx context.Context, c *vim25.Client, compute vms.Ref) (vms.Ref, error) {
	var m mo.ComputeResource
	if err := property.DefaultCollector(c).RetrieveOne(ctx, compute, []string{"resourcePool"}, &m); err != nil {
		return vms.Ref{}, err
	}
	if m.ResourcePool == nil {
		return vms.Ref{}, fault.Refuse("%s: has no resource pool", compute.Value)
	}
	return *m.ResourcePool, nil
}

// roomiest returns the usable datastore with the most free space, or nil.
func roomiest(ctx context.Context, c *vim25.Client, refs []vms.Ref) (*vms.Ref, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	var all []mo.Datastore
	if err := property.DefaultCollector(c).Retrieve(ctx, refs, []string{"summary"}, &all); err != nil {
		return nil, err
	}
	var best *mo.Datastore
	for i := range all {
		if d := &all[i]; d.Summary.Accessible && (best == nil || d.Summary.FreeSpace > best.Summary.FreeSpace) {
			best = d
		}
	}
	if best == nil {
		return nil, nil
	}
	return &best.Self, nil
}
