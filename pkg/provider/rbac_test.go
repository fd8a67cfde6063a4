package provider

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Nothing of it reaches further than it says: no wildcards, Secrets and Leases by name, cluster-wide only nodes.
func TestRBAC(t *testing.T) {
	objects := RBAC(RBACConfig{Namespace: "kube-system", ServiceAccount: "ccm", SecretNames: []string{"creds"}, LeaderElection: true})
	check := func(where string, clusterWide bool, rules []rbacv1.PolicyRule) {
		for _, r := range rules {
			for _, s := range slices.Concat(r.APIGroups, r.Resources, r.Verbs, r.ResourceNames) {
				if s == "*" {
					t.Errorf("%s: wildcard in %v", where, r)
				}
			}
			named := len(r.ResourceNames) > 0
			if slices.Contains(r.Resources, "secrets") && !(named && !clusterWide) {
				t.Errorf("%s: %v", where, r)
			}
			if clusterWide && r.Resources[0] != "nodes" && r.Resources[0] != "nodes/status" {
				t.Errorf("%s: cluster-wide %v", where, r)
			}
		}
	}
	kinds := map[string]int{}
	for _, o := range objects {
		kinds[o.GetObjectKind().GroupVersionKind().Kind]++
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			check(o.Name, true, o.Rules)
		case *rbacv1.Role:
			check(o.Namespace+"/"+o.Name, false, o.Rules)
		}
		if _, err := yaml.Marshal(o); err != nil {
			t.Error(err)
		}
	}
	if kinds["Role"] != 3 || kinds["RoleBinding"] != 3 || kinds["ClusterRole"] != 1 || kinds[""] != 0 {
		t.Errorf("got %v", kinds)
	}
	without := RBAC(RBACConfig{Namespace: "kube-system", ServiceAccount: "ccm"})
	if slices.ContainsFunc(without, func(o runtime.Object) bool {
		r, ok := o.(*rbacv1.Role)
		return ok && r.Namespace != "default"
	}) {
		t.Error("roles for nothing")
	}
}
