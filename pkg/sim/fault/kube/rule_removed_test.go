package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A role that is rewritten while it is narrowed stays as written; a deleted one stays deleted.
func TestRolesOfOthers(t *testing.T) {
	roles := func(r *rig) *rbacv1.ClusterRole {
		role, err := r.client.RbacV1().ClusterRoles().Get(t.Context(), "system:"+role, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return role
	}
	r := newRig(t)
	lease := r.inject("rbac.rule-removed", kv("resource", "nodes"))
	mine := roles(r)
	mine.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"*"}}}
	if _, err := r.client.RbacV1().ClusterRoles().Update(t.Context(), mine, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.heal(lease.ID)
	if diff := cmp.Diff(mine.Rules, roles(r).Rules); diff != "" {
		t.Errorf("(-theirs +now):\n%s", diff)
	}

	lease = r.inject("rbac.rule-removed", kv("resource", "nodes"))
	if err := r.client.RbacV1().ClusterRoles().Delete(t.Context(), mine.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.heal(lease.ID)
	if _, err := r.client.RbacV1().ClusterRoles().Get(t.Context(), mine.Name, metav1.GetOptions{}); err == nil {
		t.Error("it is there again")
	}

	if refusal := r.refused("rbac.rule-removed", kv("resource", "nodes", "component", "csi")); refusal.Code != "not-found" {
		t.Errorf("%+v", refusal)
	}
	if refusal := r.refused("rbac.rule-removed", nil); refusal.Code != "invalid" {
		t.Errorf("%+v", refusal)
	}
}
