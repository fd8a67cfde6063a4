package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func clusterOutage() *fault.Kind {
	return outage(fault.Kind{
		Name:   "cluster.outage",
		Short:  "crashes all hosts of compute clusters",
		Object: fault.Cluster,
		Long: `As when a rack loses its power: no host is left for HA to restart VMs on. Healing boots the hosts and powers on what ran
there.`,
	}, func(of, host fault.Item) bool {
		return host.VCenter == of.VCenter && host.Datacenter == of.Datacenter && host.Cluster == of.Name
	})
}

func zoneOutage() *fault.Kind {
	return outage(fault.Kind{
		Name:   "zone.outage",
		Short:  "crashes all hosts of zones",
		Object: fault.Zone,
		Long: `A zone has the hosts whose nearest zone tag names it, in any vCenter. Healing boots them and powers on what
ran there.`,
	}, func(of, host fault.Item) bool {
		return host.Zone == of.Name && (of.Region == "" || host.Region == of.Region) && (of.VCenter == "" || host.VCenter == of.VCenter)
	})
}

func datacenterOutage() *fault.Kind {
	return outage(fault.Kind{
		Name:   "datacenter.outage",
		Short:  "crashes all hosts of datacenters",
		Object: fault.Datacenter,
		Long:   `Its vCenter is elsewhere and continues: see vcenter.down for that. Healing boots the hosts and powers on what ran there.`,
	}, func(of, host fault.Item) bool {
		return host.VCenter == of.VCenter && host.Datacenter == of.Name
	})
}

// outage returns a kind that crashes all hosts of its target. It leaves hosts alone that are down already, and Revert does too.
func outage(k fault.Kind, within func(of, host fault.Item) bool) *fault.Kind {
	k.Needs, k.Aspect = []fault.Need{fault.Simulator}, "host"
	return fault.New(k, fault.Steps[[]lost]{
		Plan: func(ctx context.Context, c *fault.Call) ([]lost, string, error) {
			all, err := c.Ground.Items(ctx, fault.Host)
			if err != nil {
				return nil, "", err
			}
			var hosts []lost
			there, vms := 0, 0
			for _, item := range all {
				if !within(c.Target, item) {
					continue
				}
				there++
				ep, err := vsphere.Named(c, item.VCenter)
				if err != nil {
					return nil, "", err
				}
				if ep.Sim == nil {
					return nil, "", fault.Refuse("host %q: its vCenter %q is a real one", item.Name, item.VCenter)
				}
				h, on, err := look(ctx, ep, item.Ref)
				if err != nil {
					return nil, "", err
				}
				if inOrder(h) == nil {
					hosts = append(hosts, note(ep, h, on))
					vms += len(on)
				}
			}
			switch {
			case there == 0:
				return nil, "", fault.Refuse("no host is in it")
			case len(hosts) == 0:
				return nil, "", fault.Refuse("none of its hosts is connected")
			}
			return hosts, fmt.Sprintf("crash %d of %d hosts; %s on them will die", len(hosts), there, count(vms)), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, hosts *[]lost) error {
			for _, l := range *hosts {
				ep, err := vsphere.Named(c, l.VCenter)
				if err != nil {
					return err
				}
				release := vsphere.Causing(c, ep, l.Ref)
				err = ep.Sim.Hosts().Crash(ctx, l.Ref)
				release()
				if err != nil {
					return err
				}
			}
			return nil
		},
		Revert: func(ctx context.Context, c *fault.Call, hosts *[]lost) error {
			errs := make([]error, len(*hosts))
			var g errgroup.Group
			g.SetLimit(8)
			for i := range *hosts {
				g.Go(func() error { errs[i] = (*hosts)[i].bring(ctx, c); return nil })
			}
			_ = g.Wait() // returns nil
			return errors.Join(errs...)
		},
	})
}

func crash() *fault.Kind {
	return one(fault.Kind{
		Name:  "host.crash",
		Short: "crashes hosts; their VMs die with them",
		Long: `vCenter shows the host as not responding and its VMs as disconnected, with the last power state that it knew: on.
In a cluster with HA they are restarted on other hosts; without, their nodes become unreachable and stay.
Healing boots the host and powers on what ran there, except VMs that HA has restarted elsewhere: those stay there.`,
		Reported: []string{"vsphere-csi-driver#221", "kubernetes#50944"},
	}, "crash; %s on it will die", func(ctx context.Context, ep *fault.Endpoint, l *lost) error {
		return ep.Sim.Hosts().Crash(ctx, l.Ref)
	})
}

// one returns a kind that takes down its target, a host.
func one(k fault.Kind, does string, down func(context.Context, *fault.Endpoint, *lost) error) *fault.Kind {
	k.Object, k.Needs, k.Aspect = fault.Host, []fault.Need{fault.Simulator}, "host"
	return fault.New(k, fault.Steps[lost]{
		Plan: func(ctx context.Context, c *fault.Call) (lost, string, error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return lost{}, "", err
			}
			h, on, err := look(ctx, ep, c.Target.Ref)
			if err != nil {
				return lost{}, "", err
			}
			if err := inOrder(h); err != nil {
				return lost{}, "", err
			}
			return note(ep, h, on), fmt.Sprintf(does, count(len(on))), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, l *lost) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, l.Ref)()
			return down(ctx, ep, l)
		},
		Revert: func(ctx context.Context, c *fault.Call, l *lost) error { return l.bring(ctx, c) },
	})
}

func networkLoss() *fault.Kind {
	return one(fault.Kind{
		Name:  "host.network-loss",
		Short: "takes hosts' management network away; their VMs run on",
		Long: `vCenter shows the host as not responding and its VMs as disconnected, exactly as when it had crashed, while the nodes on
it are Ready. HA finds out through the datastores that the host is alive, and leaves it alone.`,
	}, "lose its management network; %s on it will run on, unseen", func(ctx context.Context, ep *fault.Endpoint, l *lost) error {
		return ep.Sim.Hosts().Isolate(ctx, l.Ref)
	})
}

func powerOff() *fault.Kind {
	return one(fault.Kind{
		Name:  "host.power-off",
		Short: "shuts hosts down by force; their VMs die with them",
		Long: `As an administrator does it through vCenter: that knows that the host is powered off, but not what has become of its VMs,
which it shows as disconnected. Otherwise as host.crash. Healing boots the host and powers on what ran there.`,
	}, "shut down by force; %s on it will die", func(ctx context.Context, ep *fault.Endpoint, l *lost) error {
		return vsphere.Run(ctx, ep, func(ctx context.Context, c *vim25.Client) (*object.Task, error) {
			res, err := methods.ShutdownHost_Task(ctx, c, &types.ShutdownHost_Task{This: l.Ref, Force: true})
			if err != nil {
				return nil, err
			}
			return object.NewTask(c, res.Returnval), nil
		})
	})
}

func disconnect() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "host.disconnect",
		Short: "disconnects vCenter from hosts, as an administrator does; their VMs run on",
		Long: `vCenter shows the host and its VMs as disconnected and refuses to change them. The nodes on it are Ready, and the cloud
provider must not take them for gone.`,
		Object: fault.Host, Aspect: "host",
	}, fault.Steps[struct{}]{
		Plan: func(ctx context.Context, c *fault.Call) (none struct{}, _ string, _ error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return none, "", err
			}
			h, on, err := look(ctx, ep, c.Target.Ref)
			if err != nil {
				return none, "", err
			}
			return none, fmt.Sprintf("disconnect; %s on it will run on, unseen", count(len(on))), inOrder(h)
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
				return object.NewHostSystem(vc, c.Target.Ref).Disconnect(ctx)
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			var h mo.HostSystem
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &h, "runtime"); vsphere.IsGone(err) {
				return nil
			} else if err != nil {
				return err
			}
			if h.Runtime.ConnectionState != types.HostSystemConnectionStateDisconnected {
				return nil
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
				return object.NewHostSystem(vc, c.Target.Ref).Reconnect(ctx, nil, nil)
			})
		},
	})
}

// Kinds returns the faults of hosts, in the order of the catalogue.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		crash(), powerOff(), networkLoss(), disconnect(), maintenance(),
		clusterOutage(), zoneOutage(), datacenterOutage(),
		vmDisconnected(), vmInaccessible(), vmOrphaned(),
	}
}

// lost is a host that is down or unreachable, with the VMs that ran on it.
type lost struct {
	VCenter string      `json:"vcenter"`
	Name    string      `json:"name"`
	Ref     vsphere.Ref `json:"ref"`
	// VMs were on. Revert powers on those that died with the host, unless they run elsewhere.
	VMs []vsphere.Ref `json:"vms,omitempty"`
}

// look reads a host and its VMs that are on.
func look(ctx context.Context, ep *fault.Endpoint, ref vsphere.Ref) (h mo.HostSystem, on []mo.VirtualMachine, err error) {
	if err := vsphere.Get(ctx, ep, ref, &h, "name", "runtime", "vm", "parent"); err != nil {
		return h, nil, err
	}
	var vms []mo.VirtualMachine
	if err := vsphere.GetAll(ctx, ep, h.Vm, &vms, "name", "runtime", "datastore"); err != nil {
		return h, nil, err
	}
	for _, vm := range vms {
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			on = append(on, vm)
		}
	}
	return h, on, nil
}

func note(ep *fault.Endpoint, h mo.HostSystem, on []mo.VirtualMachine) lost {
	l := lost{VCenter: ep.Name, Name: h.Name, Ref: h.Self}
	for _, vm := range on {
		l.VMs = append(l.VMs, vm.Self)
	}
	return l
}

// inOrder refuses a host that is not connected and powered on.
func inOrder(h mo.HostSystem) error {
	if s := h.Runtime.ConnectionState; s != types.HostSystemConnectionStateConnected {
		return fault.Refuse("host %q: is not connected, but %s", h.Name, s)
	}
	return nil
}

// bring restores the host and starts the VMs that ran on it.
func (l *lost) bring(ctx context.Context, c *fault.Call) error {
	ep, err := vsphere.Named(c, l.VCenter)
	if err != nil {
		return err
	}
	var h mo.HostSystem
	if err := vsphere.Get(ctx, ep, l.Ref, &h, "runtime"); vsphere.IsGone(err) {
		return nil
	} else if err != nil {
		return err
	}
	if h.Runtime.ConnectionState != types.HostSystemConnectionStateConnected {
		release := vsphere.Causing(c, ep, l.Ref)
		err := ep.Sim.Hosts().Recover(ctx, l.Ref)
		release()
		if err != nil && h.Runtime.ConnectionState == types.HostSystemConnectionStateNotResponding {
			return err
		}
	}
	var g errgroup.Group
	g.SetLimit(8)
	for _, vm := range l.VMs {
		g.Go(func() error { return l.start(ctx, c, ep, vm) })
	}
	return g.Wait()
}

// start powers on a VM that was on, unless it has left the host.
func (l *lost) start(ctx context.Context, c *fault.Call, ep *fault.Endpoint, ref vsphere.Ref) error {
	var vm mo.VirtualMachine
	if err := vsphere.Get(ctx, ep, ref, &vm, "name", "runtime"); vsphere.IsGone(err) {
		return nil
	} else if err != nil {
		return err
	}
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff || vm.Runtime.Host == nil || *vm.Runtime.Host != l.Ref {
		return nil
	}
	if err := vsphere.PowerOn(ctx, c, ep, ref); err != nil && !vsphere.IsGone(err) {
		return fmt.Errorf("vm %q: power on: %w", vm.Name, err)
	}
	return nil
}

// count formats a number of VMs: "1 VM", "3 VMs".
func count(n int) string {
	if n == 1 {
		return "1 VM"
	}
	return fmt.Sprintf("%d VMs", n)
}

func vmDisconnected() *fault.Kind {
	return hidden("vm.disconnected", types.VirtualMachineConnectionStateDisconnected,
		"shows VMs as disconnected, while nothing is wrong with their hosts",
		`vCenter knows the last that it saw of the VM, and refuses to change it. The node runs on.`)
}

func vmInaccessible() *fault.Kind {
	return hidden("vm.inaccessible", types.VirtualMachineConnectionStateInaccessible,
		"shows VMs as inaccessible, as when vCenter cannot read their configuration",
		`vCenter shows what it knew, and refuses to change the VM. The node runs on.`)
}

func vmOrphaned() *fault.Kind {
	return hidden("vm.orphaned", types.VirtualMachineConnectionStateOrphaned,
		"makes VMs unknown to their hosts, as when they are deleted there behind vCenter's back",
		`vCenter keeps a VM that it cannot find on its host. It does not say that the VM is gone, and no client may take it for
gone. The node runs on.`)
}

// hidden returns a kind that shows a VM in a connection state.
func hidden(name string, state types.VirtualMachineConnectionState, short, long string) *fault.Kind {
	return fault.New(fault.Kind{
		Name: name, Short: short, Long: long,
		Object: fault.VM, Needs: []fault.Need{fault.Simulator}, Aspect: "connection",
	}, fault.Steps[struct{}]{
		Plan: func(ctx context.Context, c *fault.Call) (none struct{}, _ string, _ error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return none, "", err
			}
			var vm mo.VirtualMachine
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &vm, "runtime"); err != nil {
				return none, "", err
			}
			if s := vm.Runtime.ConnectionState; s != types.VirtualMachineConnectionStateConnected {
				return none, "", fault.Refuse("vm %q: is not connected, but %s", c.Target.Name, s)
			}
			return none, fmt.Sprintf("show as %s (is connected)", state), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.Hosts().Hide(ctx, c.Target.Ref, state)
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			var vm mo.VirtualMachine
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &vm, "runtime"); vsphere.IsGone(err) {
				return nil
			} else if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.Hosts().Show(ctx, c.Target.Ref)
		},
	})
}
