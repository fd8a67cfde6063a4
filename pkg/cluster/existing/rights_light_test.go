package existing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/fleet"
)

// The light nodes' account may do what their program says that it does, to the letter.
func TestLightNodesRights(t *testing.T) {
	var wide, leases []rbacv1.PolicyRule
	for _, o := range chartObjects(t) {
		var role struct {
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		if o.GetLabels()["app.kubernetes.io/component"] != "light-nodes" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil && len(role.Rules) > 0 {
			t.Fatal(err)
		}
		switch {
		case o.GetKind() == "ClusterRole":
			wide = role.Rules
		case o.GetKind() == "Role" && o.GetNamespace() == "kube-node-lease":
			leases = role.Rules
		case o.GetKind() == "Role":
			t.Errorf("a Role in %s", o.GetNamespace())
		}
	}
	if diff := cmp.Diff(fleet.Rights(), wide); diff != "" {
		t.Errorf("(-program +chart):\n%s", diff)
	}
	if diff := cmp.Diff(fleet.LeaseRights(), leases); diff != "" {
		t.Errorf("(-program +chart):\n%s", diff)
	}
}
