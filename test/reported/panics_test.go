package reported

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// panicReports are about what a CCM may end over: they come last.
func panicReports() []report {
	return []report{
		{
			saw: "a VM without guest information has the CCM panic", issues: []string{"#202"}, vms: some("noguest"), run: nilGuest,
		},
		{
			saw: "a providerID of k3s has its Node deleted, or the CCM panic", issues: []string{"#485", "#506"}, vms: some("k3s"),
			run: withProviderID("k3s", func(m *lab.Machine) string { return "k3s://" + m.Name }),
		},
		{
			saw: "a providerID in the other byte order has the CCM panic", issues: []string{"#485", "#506"}, vms: some("turned"),
			run: withProviderID("turned", func(m *lab.Machine) string { return "vsphere://" + swapped(m.UUID) }),
		},
	}
}

func withProviderID(name string, id func(*lab.Machine) string) func(context.Context, *ground) error {
	return func(ctx context.Context, w *ground) error {
		ends := len(w.ccm.Exits())
		given := id(w.Machine(name))
		return steps(
			func() error { return w.joinAs(ctx, func(n *corev1.Node) { n.Spec.ProviderID = given }, name) },
			func() error { return w.silentStay(ctx, name) },
			func() error { return w.ranThrough(ends) },
			func() error {
				if got := w.Nodes.Now()[name].Spec.ProviderID; got != given {
					return fmt.Errorf("node %s has providerID %q, not %q", name, got, given)
				}
				if strings.HasPrefix(given, "k3s") {
					return w.warned(ctx, name, "ForeignProviderID")
				}
				return w.await(ctx, "initialized", func(nodes lab.NodeSet) string { return nodes.Has(name, lab.UninitializedTaint) })
			},
		)
	}
}

func nilGuest(ctx context.Context, w *ground) error {
	m := w.Machine("noguest")
	was, err := guestOf(ctx, m)
	if err != nil {
		return err
	}
	ends := len(w.ccm.Exits())
	err = steps(
		func() error { return set(ctx, m, "guest", nil) },
		func() error { return w.join(ctx, m.Name) },
		func() error { return w.silentStay(ctx, m.Name) },
	)
	if err = finally(err, func() error { return set(context.WithoutCancel(ctx), m, "guest", *was) }); err != nil {
		return err
	}
	return steps(
		func() error { return w.Kubelets.Revive(ctx, m.Name) },
		func() error { return w.ranThrough(ends) },
		func() error { return w.initialized(ctx, m.Name) },
	)
}

// ranThrough returns an error if the CCM has exited more often than that.
func (w *ground) ranThrough(ends int) error {
	if len(w.ccm.Exits()) <= ends {
		return nil
	}
	why := w.ccm.Log()
	if i := strings.LastIndex(why, "panic: "); i >= 0 {
		why, _, _ = strings.Cut(why[i:], "\n")
	}
	return fmt.Errorf("the CCM ended by itself: %s", lab.Tail([]byte(why), 300))
}
