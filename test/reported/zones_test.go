package reported

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// zoneReports are about region and zone.
func zoneReports() []report {
	return []report{
		{
			saw: "nodes of a second vCenter get no zone", issues: []string{"#294", "csi #129"},
			vms: []vm{{name: "zone-west"}, {name: "zone-east", at: east}, {name: "zone-north", at: north}},
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return w.up(ctx, "zone-west", "zone-east", "zone-north") },
					func() error { return w.zone(ctx, "zone-west", "us-west", "us-west-1") },
					func() error { return w.zone(ctx, "zone-east", "us-east", "us-east-1") },
					func() error { return w.zone(ctx, "zone-north", "eu-north", "eu-north-1") },
				)
			},
		},
	}
}

// zone waits until a node has region and zone.
func (w *ground) zone(ctx context.Context, name, region, zone string) error {
	return w.await(ctx, "zones", func(nodes lab.NodeSet) string {
		n := nodes[name]
		if n == nil {
			return "node " + name + " does not exist"
		}
		if r, z := n.Labels[corev1.LabelTopologyRegion], n.Labels[corev1.LabelTopologyZone]; r != region || z != zone {
			return fmt.Sprintf("node %s is in %q, %q, not in %q, %q", name, r, z, region, zone)
		}
		return ""
	})
}

// startWithoutZones has a configuration without labels.
func startWithoutZones(w *ground) {
	o := lab.CCMOptions{Name: "zones", Config: w.config(func(conf map[string]any) { delete(conf, "labels") }, "us")}
	if !w.theirs {
		o.Args = []string{"--relabel-zones"}
	}
	w.start(o)
}

func relabelReports() []report {
	return []report{
		{
			saw: "zones are enabled in a cluster that exists, without effect", issues: []string{"#435"}, vms: some("labeled"),
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return w.up(ctx, "labeled") },
					func() error {
						if z := w.Nodes.Now()["labeled"].Labels[corev1.LabelTopologyZone]; z != "" {
							return fmt.Errorf("node labeled is in zone %q before there are any", z)
						}
						return nil
					},
					func() error { return w.rewrite(w.config(nil, "us")) },
					func() error { return w.zone(ctx, "labeled", "us-west", "us-west-1") },
				)
			},
		},
		{
			saw: "a VM moves to another zone, its node's labels do not", issues: []string{"kubernetes #64021"}, vms: some("moved"),
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return w.up(ctx, "moved") },
					func() error { return w.zone(ctx, "moved", "us-west", "us-west-1") },
					func() error { return w.move(ctx, "moved", "/west/host/w2") },
					func() error { return w.zone(ctx, "moved", "us-west", "us-west-2") },
				)
			},
		},
	}
}

// move has vMotion take a machine to a cluster of its vCenter.
func (w *ground) move(ctx context.Context, name, cluster string) error {
	m := w.Machine(name)
	to, err := find.NewFinder(w.Operator(m.VCenter.Name).Client).ClusterComputeResource(ctx, cluster)
	if err != nil {
		return err
	}
	pool, err := to.ResourcePool(ctx)
	if err != nil {
		return err
	}
	hosts, err := to.Hosts(ctx)
	if err != nil {
		return err
	}
	vm, err := m.Object(ctx)
	if err != nil {
		return err
	}
	task, err := vm.Migrate(ctx, pool, hosts[0], types.VirtualMachineMovePriorityDefaultPriority, "")
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}
