package host

import (
	"context"
	"errors"
	"fmt"

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
		Long: `A zone has the hosts whose nearest zone tag names it, in whatever vCenter they are. Healing boots them and powers on what
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
		Long:   `Its vCenter is elsewhere and goes on: see vcenter.down for that. Healing boots the hosts and powers on what ran there.`,
	}, func(of, host fault.Item) bool {
		return host.VCenter == of.VCenter && host.Datacenter == of.Name
	})
}

// outage makes a kind that crashes all hosts that are in its target. Those that are down already are left alone, and stay
// down when it is healed.
func outage(k fault.Kind, within func(of, host fault.Item) bool) *fault.Kind {
	k.Needs, k.Touches = []fault.Need{fault.Simulator}, "host"
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
				err = ep.Sim.CrashHost(ctx, l.Ref)
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
			_ = g.Wait() // none
			return errors.Join(errs...)
		},
	})
}
