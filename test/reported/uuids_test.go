package reported

import (
	"context"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// uuidReports are about UUIDs that are reported in another form, or not at all.
func uuidReports() []report {
	return []report{
		{
			saw: "a UUID that is blank for seconds makes the providerID vsphere://", issues: []string{"#521"}, vms: some("blank"), run: blankUUID,
		},
		{
			saw: "product_uuid is in the other byte order, or in upper case", issues: []string{"kubernetes #58927", "kubernetes #84247", "charm #102"},
			vms: some("swapped-uuid", "swapped-twin", "upper-uuid"),
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return rename(ctx, w.Machine("swapped-twin"), "swapped-uuid") }, // the name does not help
					func() error {
						return w.joinAs(ctx, func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = swapped(n.Status.NodeInfo.SystemUUID) }, "swapped-uuid")
					},
					func() error {
						return w.joinAs(ctx, func(n *corev1.Node) {
							n.Status.NodeInfo.SystemUUID = strings.ToUpper(n.Status.NodeInfo.SystemUUID)
						}, "upper-uuid")
					},
					func() error { return w.initialized(ctx, "swapped-uuid", "upper-uuid") },
					func() error { return w.silentStay(ctx, "swapped-uuid", "upper-uuid") },
					func() error { return w.destroy(ctx, "swapped-uuid") },
					func() error { return w.gone(ctx, "swapped-uuid") },
				)
			},
		},
	}
}

func blankUUID(ctx context.Context, w *ground) error {
	m := w.Machine("blank")
	vm, err := m.Object(ctx)
	if err != nil {
		return err
	}
	empty := func(c lab.NodeChange) bool { return c.Node.Spec.ProviderID == "vsphere://" }
	return steps(
		func() error { return setUUID(ctx, vm, "") },
		func() error { return w.join(ctx, m.Name) },
		func() error { return w.Kubelets.Fail(ctx, m.Name) },
		func() error { return w.never(ctx, "has providerID vsphere://", empty, m.Name) },
		func() error { return w.stay(ctx, m.Name) },
		func() error { return setUUID(ctx, vm, m.UUID) },
		func() error { return w.Kubelets.Revive(ctx, m.Name) },
		func() error { return w.initialized(ctx, m.Name) },
	)
}

// swapped returns a UUID with the bytes of its first three groups reversed, as firmware of some hardware versions reports
// it.
func swapped(text string) string {
	u := uuid.MustParse(text)
	u[0], u[1], u[2], u[3] = u[3], u[2], u[1], u[0]
	u[4], u[5], u[6], u[7] = u[5], u[4], u[7], u[6]
	return u.String()
}
