package reported

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
)

const providedNodeIP = "alpha.kubernetes.io/provided-node-ip"

// startReports are about what happens at the start, and to addresses without any rule.
func startReports() []report {
	return []report{
		{
			saw: "logins without credentials flood the vCenter's events", issues: []string{"#774"}, vms: some("quiet"),
			run: func(ctx context.Context, w *ground) error {
				if err := w.up(ctx, "quiet"); err != nil {
					return err
				}
				for _, c := range w.mark.Calls(isLogin) {
					if c.Errors > 0 {
						return fmt.Errorf("vCenter %s refused %d of %d calls of %s by %s", c.VCenter, c.Errors, c.Calls, c.Method, c.Client)
					}
				}
				return nil
			},
		},
		{
			saw: "with many CNI devices the InternalIP is one of theirs", issues: []string{"#338"}, vms: some("cni"), run: pseudoAdapters,
		},
		{
			saw: "a node IP that is not the first of its adapter keeps the node out", issues: []string{"#1455"},
			vms: []vm{{name: "virtual-ip", more: "nics: [{network: inside, addresses: [10.20.100.1, 10.20.100.2]}]"}},
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error {
						return w.joinAs(ctx, func(n *corev1.Node) {
							n.Annotations = map[string]string{providedNodeIP: "10.20.100.2"}
						}, "virtual-ip")
					},
					func() error { return w.initialized(ctx, "virtual-ip") },
					func() error { return w.has(ctx, "virtual-ip", corev1.NodeInternalIP, "10.20.100.2") },
				)
			},
		},
	}
}

func pseudoAdapters(ctx context.Context, w *ground) error {
	m := w.Machine("cni")
	was, err := guestOf(ctx, m)
	if err != nil {
		return err
	}
	if len(was.Net) == 0 || len(was.Net[0].IpAddress) == 0 {
		return fmt.Errorf("guest %s has no address", m.Name)
	}
	want := was.Net[0].IpAddress[0]
	var all []types.GuestNicInfo
	for i := range 20 {
		all = append(all, types.GuestNicInfo{
			MacAddress: fmt.Sprintf("02:42:00:00:00:%02x", i), IpAddress: []string{fmt.Sprintf("10.244.%d.1", i)}, DeviceConfigId: -1, Connected: true,
		})
	}
	return steps(
		func() error { return nics(ctx, m, slices.Concat(all, was.Net)...) },
		func() error { return w.up(ctx, m.Name) },
		func() error { return w.has(ctx, m.Name, corev1.NodeInternalIP, want) },
		func() error { return w.has(ctx, m.Name, corev1.NodeExternalIP, want) },
	)
}
