package reported

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// startNetworks selects addresses by network.
func startNetworks(w *ground) {
	// Upstream starts with two families only if its environment enables that.
	w.start(lab.CCMOptions{Name: "networks", Config: w.byNetwork("ipv4"), Env: []string{"ENABLE_ALPHA_DUAL_STACK=true"}})
}

// byNetwork is vsphere.conf with names of networks and IP families.
func (w *ground) byNetwork(families ...string) string {
	w.t.Helper()
	return w.config(func(conf map[string]any) {
		conf["global"].(map[string]any)["ipFamily"] = families
		conf["nodes"] = map[string]any{"internalVmNetworkName": "inside", "externalVmNetworkName": "outside"}
	}, "us")
}

// networkReports are about networks and IP families. Each of them changes the configuration for itself.
func networkReports() []report {
	return []report{
		{
			saw: "every adapter's address is internal and external", issues: []string{"#270"},
			vms: []vm{{name: "two-nets", more: "nics: [{network: outside, addresses: [203.0.113.9]}, {network: inside, addresses: [10.20.100.9]}]"}},
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return w.up(ctx, "two-nets") },
					func() error { return w.has(ctx, "two-nets", corev1.NodeInternalIP, "10.20.100.9") },
					func() error { return w.has(ctx, "two-nets", corev1.NodeExternalIP, "203.0.113.9") },
				)
			},
		},
		{
			saw: "a node with IPv6 alone has no address", issues: []string{"#389"},
			vms: []vm{{name: "six", more: `nics: [{network: inside, addresses: ["2001:db8::11/64"]}]`}},
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return w.rewrite(w.byNetwork("ipv6")) },
					func() error { return w.up(ctx, "six") },
					func() error { return w.has(ctx, "six", corev1.NodeInternalIP, "2001:db8::11") },
				)
			},
		},
		{
			saw: "a dual-stack node has the addresses of one family", issues: []string{"#302", "#312"},
			vms: []vm{{name: "dual", more: `nics: [{network: inside, addresses: [10.20.100.10, "2001:db8::10/64"]}]`}},
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return w.rewrite(w.byNetwork("ipv4", "ipv6")) },
					func() error { return w.up(ctx, "dual") },
					func() error { return w.has(ctx, "dual", corev1.NodeInternalIP, "10.20.100.10", "2001:db8::10") },
				)
			},
		},
	}
}
