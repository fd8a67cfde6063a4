package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/rbac"
)

func labelsOf(t *testing.T, o runtime.Object) map[string]string {
	t.Helper()
	m, err := meta.Accessor(o)
	if err != nil {
		t.Fatal(err)
	}
	return m.GetLabels()
}

// held are the rights of an account of the chart, by namespace; "" is the whole cluster.
func held(t *testing.T, account string) map[string][]rbacv1.PolicyRule {
	t.Helper()
	rules := map[string][]rbacv1.PolicyRule{}
	for _, o := range sandboxObjects(t, "") {
		if labelsOf(t, o)["app.kubernetes.io/component"] != account {
			continue
		}
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			rules[""] = append(rules[""], o.Rules...)
		case *rbacv1.Role:
			rules[o.Namespace] = append(rules[o.Namespace], o.Rules...)
		}
	}
	return rules
}

// lacking lists what of a rule is not among rules.
func lacking(rules []rbacv1.PolicyRule, r rbacv1.PolicyRule) (all []string) {
	names := r.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				for _, name := range names {
					if !slices.ContainsFunc(rules, func(h rbacv1.PolicyRule) bool {
						return slices.Contains(h.APIGroups, group) && slices.Contains(h.Resources, resource) && slices.Contains(h.Verbs, verb) &&
							(len(h.ResourceNames) == 0 || slices.Contains(h.ResourceNames, name))
					}) {
						all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s.%s %s", verb, resource, group, name)))
					}
				}
			}
		}
	}
	return all
}

// The sandbox can create the roles of the cloud controller manager: RBAC lets accounts grant only what they have.
func TestSandboxMayGrantWhatItGrants(t *testing.T) {
	rights := held(t, "sandbox")
	roles := rbac.Objects(rbac.Config{
		Namespace: "kube-system", ServiceAccount: "cloud-controller-manager", Pod: true,
		SecretNames: []string{"vsphere-cloud-secret"}, LeaderElection: true,
	})
	for _, o := range roles {
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			for _, r := range o.Rules {
				for _, what := range lacking(rights[""], r) {
					t.Errorf("%s: %s", o.Name, what)
				}
			}
		case *rbacv1.Role:
			for _, r := range o.Rules {
				for _, what := range lacking(slices.Concat(rights[""], rights[o.Namespace]), r) {
					t.Errorf("%s in %s: %s", o.Name, o.Namespace, what)
				}
			}
		}
	}
}

// No right reaches further than it says, and none that would give all others: no wildcard, no escalation, no Secrets of other
// namespaces.
func TestSandboxRightsHaveBounds(t *testing.T) {
	for _, account := range []string{"sandbox", "light-nodes"} {
		for namespace, rules := range held(t, account) {
			for _, r := range rules {
				for _, s := range slices.Concat(r.APIGroups, r.Resources, r.Verbs, r.ResourceNames) {
					if slices.Contains([]string{"*", "escalate", "bind", "impersonate"}, s) {
						t.Errorf("%s in %q: %s in %v", account, namespace, s, r)
					}
				}
				reads := slices.Contains(r.Verbs, "get") || slices.Contains(r.Verbs, "watch")
				if namespace == "" && slices.Contains(r.Resources, "secrets") && reads {
					t.Errorf("%s: %v everywhere", account, r)
				}
			}
		}
	}
}
