package reported

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// lateReports are about guests that say little, late or nothing.
func lateReports() []report {
	return []report{
		{
			saw: "the hostname comes late, and the Node is deleted meanwhile", issues: []string{"#381", "#383", "#387"}, vms: some("late"),
			run: hostnameLate,
		},
		{
			saw: "a guest never tells its hostname, and nobody says why the node waits", issues: []string{"talos-vmtoolsd #11"}, vms: some("mute"),
			run: func(ctx context.Context, w *ground) error {
				if _, err := silence(ctx, w.machines("mute")...); err != nil {
					return err
				}
				return steps(
					func() error { return w.join(ctx, "mute") },
					func() error { return w.warned(ctx, "mute", "GuestNotReporting") },
					func() error { return w.silentStay(ctx, "mute") },
				)
			},
		},
		{
			saw: "adapters come late, and the taint stays", issues: []string{"#772"}, vms: some("nonic"), run: adaptersLate,
		},
		{
			saw: "of three nodes whose tools come one after the other, the third is not initialized", issues: []string{"rancher #50089"},
			vms: some("stagger-1", "stagger-2", "stagger-3"), run: staggered,
		},
		{
			saw: "tools stop and come back, the InternalIP does not", issues: []string{"#398"}, vms: some("stops"), run: toolsStop,
		},
	}
}

func hostnameLate(ctx context.Context, w *ground) error {
	speak, err := silence(ctx, w.machines("late")...)
	if err != nil {
		return err
	}
	return steps(
		func() error { return w.join(ctx, "late") },
		func() error { return w.silentStay(ctx, "late") },
		func() error { return w.Kubelets.Revive(ctx, "late") },
		speak[0],
		func() error { return w.initialized(ctx, "late") },
		func() error { return w.silentStay(ctx, "late") },
	)
}

func adaptersLate(ctx context.Context, w *ground) error {
	m := w.Machine("nonic")
	was, err := guestOf(ctx, m)
	if err != nil {
		return err
	}
	return steps(
		func() error { return nics(ctx, m) },
		func() error { return w.join(ctx, m.Name) },
		func() error { return w.silentStay(ctx, m.Name) },
		func() error { return w.Kubelets.Revive(ctx, m.Name) },
		func() error { return nics(ctx, m, was.Net...) },
		func() error { return w.initialized(ctx, m.Name) },
	)
}

func staggered(ctx context.Context, w *ground) error {
	names := []string{"stagger-1", "stagger-2", "stagger-3"}
	speak, err := silence(ctx, w.machines(names...)...)
	if err != nil {
		return err
	}
	if err := w.join(ctx, names...); err != nil {
		return err
	}
	for i, name := range names {
		err := steps(
			speak[i],
			func() error { return w.initialized(ctx, name) },
		)
		if err != nil {
			return fmt.Errorf("guest %d: %w", i+1, err)
		}
	}
	return nil
}

func toolsStop(ctx context.Context, w *ground) error {
	m := w.Machine("stops")
	if err := w.up(ctx, m.Name); err != nil {
		return err
	}
	speak, err := silence(ctx, m)
	if err != nil {
		return err
	}
	none := func(c lab.NodeChange) bool { return len(addressesOf(c.Node, corev1.NodeInternalIP)) == 0 }
	began := time.Now()
	next := types.GuestNicInfo{Network: "inside", IpAddress: []string{"10.20.200.1"}, DeviceConfigId: 4000, Connected: true}
	return steps(
		func() error { return w.never(ctx, "has no InternalIP", none, m.Name) },
		speak[0],
		func() error { return nics(ctx, m, next) },
		func() error { return w.has(ctx, m.Name, corev1.NodeInternalIP, "10.20.200.1") },
		func() error {
			if at, ok := w.Nodes.First(m.Name, began, none); ok {
				return fmt.Errorf("node %s had no InternalIP after %s", m.Name, at.Sub(began))
			}
			return nil
		},
	)
}
