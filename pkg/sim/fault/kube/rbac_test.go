package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestWithout(t *testing.T) {
	type rules = []rbacv1.PolicyRule
	rule := func(resources, verbs []string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: resources, ResourceNames: []string{"n"}, Verbs: verbs}
	}
	type list = []string
	for name, tc := range map[string]struct {
		before         rules
		resource, verb string
		after          rules
		unchanged      bool
	}{
		"one of one":       {rules{rule(list{"nodes"}, list{"get"})}, "nodes", "get", nil, false},
		"one verb":         {rules{rule(list{"nodes"}, list{"get", "list"})}, "nodes", "get", rules{rule(list{"nodes"}, list{"list"})}, false},
		"all verbs":        {rules{rule(list{"nodes"}, list{"get", "list"})}, "nodes", "", nil, false},
		"of two resources": {rules{rule(list{"nodes", "pods"}, list{"get", "list"})}, "nodes", "get", rules{rule(list{"pods"}, list{"get", "list"}), rule(list{"nodes"}, list{"list"})}, false},
		"of any verb":      {rules{rule(list{"nodes"}, list{"*"})}, "nodes", "delete", rules{rule(list{"nodes"}, list{"get", "list", "watch", "create", "update", "patch", "deletecollection"})}, false},
		"a subresource":    {rules{rule(list{"nodes", "nodes/status"}, list{"patch"})}, "nodes/status", "patch", rules{rule(list{"nodes"}, list{"patch"})}, false},
		"in several rules": {rules{rule(list{"nodes"}, list{"get"}), rule(list{"pods"}, list{"get"}), rule(list{"nodes"}, list{"list"})}, "nodes", "", rules{rule(list{"pods"}, list{"get"})}, false},
		"another verb":     {rules{rule(list{"nodes"}, list{"get"})}, "nodes", "list", rules{rule(list{"nodes"}, list{"get"})}, true},
		"another resource": {rules{rule(list{"nodes"}, list{"get"})}, "node", "", rules{rule(list{"nodes"}, list{"get"})}, true},
		"everything":       {rules{rule(list{"*"}, list{"*"})}, "nodes", "", rules{rule(list{"*"}, list{"*"})}, true},
		"no resources":     {rules{{NonResourceURLs: list{"/healthz"}, Verbs: list{"get"}}}, "nodes", "", rules{{NonResourceURLs: list{"/healthz"}, Verbs: list{"get"}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, changed := without(tc.before, tc.resource, tc.verb)
			if diff := cmp.Diff(tc.after, got); diff != "" || changed == tc.unchanged {
				t.Errorf("changed: %v (-want +got):\n%s", changed, diff)
			}
		})
	}
}
