package reported

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// lifecycleReports are about nodes whose VMs end.
func lifecycleReports() []report {
	return []report{
		{
			saw: "the Node of a destroyed VM stays", issues: []string{"#359", "#680", "#681"}, vms: some("destroyed"),
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return w.up(ctx, "destroyed") },
					func() error { return w.destroy(ctx, "destroyed") },
					func() error { return w.gone(ctx, "destroyed") },
				)
			},
		},
		{
			saw: "a VM that is off is not reported as shut down", issues: []string{"#207", "#185"}, vms: some("off"),
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return w.up(ctx, "off") },
					func() error { return w.Machine("off").PowerOff(ctx) },
					func() error { return w.Kubelets.Fail(ctx, "off") },
					func() error { return w.shutDown(ctx, "off") },
					func() error { return w.stay(ctx, "off") },
					func() error { return w.Machine("off").PowerOn(ctx) },
					func() error {
						return w.await(ctx, "back on", func(nodes lab.NodeSet) string { return nodes.Has("off", lab.ShutdownTaint) })
					},
				)
			},
		},
		{
			saw: "the Node of a VM that was created again under the same name is deleted", issues: []string{"#397"}, vms: some("anew", "anew-next"),
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return w.up(ctx, "anew") },
					func() error { return w.destroy(ctx, "anew") },
					func() error { return w.gone(ctx, "anew") },
					func() error { return w.takesOver(ctx, "anew", "anew-next") },
				)
			},
		},
		{
			saw: "the Node is deleted by hand, and the next one gets the old UUID", issues: []string{"#501"}, vms: some("byhand", "byhand-next"),
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return w.up(ctx, "byhand") },
					func() error { return w.remove(ctx, "byhand") },
					func() error { return w.Machine("byhand").Destroy(ctx) },
					func() error { return w.takesOver(ctx, "byhand", "byhand-next") },
				)
			},
		},
		{
			saw: "a system UUID that changes in place has the next Node deleted", issues: []string{"#759"}, vms: some("inplace", "inplace-next"),
			run: systemUUIDChanges,
		},
		{
			saw: "a Node that is tainted once more stays so", issues: []string{"#218"}, vms: some("again"), run: taintedAgain,
		},
	}
}

// destroy deletes the VM of a node, whose Ready condition says so.
func (w *ground) destroy(ctx context.Context, name string) error {
	return steps(
		func() error { return w.Machine(name).Destroy(ctx) },
		func() error { return w.Kubelets.Fail(ctx, name) },
	)
}

// takesOver has the machine next, which was made under another name, join as the node of that name, and fall silent.
func (w *ground) takesOver(ctx context.Context, name, next string) error {
	m := w.Machine(next)
	return steps(
		func() error { return rename(ctx, m, name) },
		func() error { return w.joinAs(ctx, func(n *corev1.Node) { n.Name = name }, next) },
		func() error { return w.runsOn(ctx, name, m) },
		func() error { return w.silentStay(ctx, name) },
	)
}

func systemUUIDChanges(ctx context.Context, w *ground) error {
	next := w.Machine("inplace-next")
	patch := fmt.Appendf(nil, `{"status":{"nodeInfo":{"systemUUID":%q}}}`, next.UUID)
	return steps(
		func() error { return w.up(ctx, "inplace") },
		func() error { return rename(ctx, w.Machine("inplace"), "inplace-before") },
		func() error { return rename(ctx, next, "inplace") },
		func() error {
			_, err := w.Client.CoreV1().Nodes().Patch(ctx, "inplace", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
			return err
		},
		func() error { return w.Machine("inplace").Destroy(ctx) },
		func() error { return w.remove(ctx, "inplace") },
		func() error { return w.takesOver(ctx, "inplace", "inplace-next") },
	)
}

func taintedAgain(ctx context.Context, w *ground) error {
	if err := w.up(ctx, "again"); err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"taints":[{"key":%q,"value":"true","effect":"NoSchedule"}]}}`, lab.UninitializedTaint)
	before, began := lab.SnapshotOf(w.Nodes.Now()["again"]), time.Now()
	return steps(
		func() error {
			_, err := w.Client.CoreV1().Nodes().Patch(ctx, "again", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			return err
		},
		func() error {
			return w.await(ctx, "tainted", func(lab.NodeSet) string {
				if _, ok := w.Nodes.First("again", began, lab.Tainted(lab.UninitializedTaint)); !ok {
					return "node again never had the taint"
				}
				return ""
			})
		},
		func() error { return w.initialized(ctx, "again") },
		func() error { return w.silentStay(ctx, "again") },
		func() error {
			after := lab.SnapshotOf(w.Nodes.Now()["again"])
			if fmt.Sprint(before) != fmt.Sprint(after) {
				return fmt.Errorf("node again is %v, was %v", after, before)
			}
			return nil
		},
	)
}
