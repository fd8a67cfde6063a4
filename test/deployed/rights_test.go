package deployed

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// right is one verb of a rule that the manifest grants to its account.
type right struct {
	verb, group, resource string
	name                  string // empty for all
	namespace             string // empty for all
}

func (r right) String() string {
	s := r.verb + " " + r.resource
	if r.group != "" {
		s += "." + r.group
	}
	if r.name != "" {
		s += " " + r.name
	}
	if r.namespace != "" {
		s += " in " + r.namespace
	}
	return s
}

// covers reports whether it is the permission that the request needs.
func (r right) covers(q request) bool {
	o := q.ObjectRef
	return o != nil && r.verb == q.Verb && r.group == o.APIGroup && r.resource == q.resource() &&
		(r.name == "" || r.name == o.Name) && (r.namespace == "" || r.namespace == o.Namespace)
}

// rights are all that the manifest grants.
func (m manifest) rights(t *testing.T) []right {
	t.Helper()
	account := all[corev1.ServiceAccount](t, m, "ServiceAccount")[0]
	ours := func(subjects []rbacv1.Subject) bool {
		return slices.Equal(subjects, []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: account.Namespace}})
	}
	var found []right
	for _, b := range all[rbacv1.ClusterRoleBinding](t, m, "ClusterRoleBinding") {
		for _, role := range all[rbacv1.ClusterRole](t, m, b.RoleRef.Kind) {
			if role.Name == b.RoleRef.Name && ours(b.Subjects) {
				found = append(found, expand("", role.Rules)...)
			}
		}
	}
	for _, b := range all[rbacv1.RoleBinding](t, m, "RoleBinding") {
		for _, role := range all[rbacv1.Role](t, m, b.RoleRef.Kind) {
			if role.Name == b.RoleRef.Name && role.Namespace == b.Namespace && ours(b.Subjects) {
				found = append(found, expand(b.Namespace, role.Rules)...)
			}
		}
	}
	return found
}

// expand is each verb of each resource of rules.
func expand(namespace string, rules []rbacv1.PolicyRule) []right {
	var found []right
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					for _, verb := range rule.Verbs {
						found = append(found, right{verb, group, resource, name, namespace})
					}
				}
			}
		}
	}
	return found
}

// listRights are needed by hardly anybody whom the API server streams its lists to, as a watch, which it does since
// Kubernetes 1.34: when such a stream does not come about. TestHandover shows that they are needed otherwise.
func listRights() map[string]bool {
	return map[string]bool{"list nodes": true, "list secrets vsphere-cloud-secret in kube-system": true}
}

// checkRefusals: nothing that the account asked for was refused.
func (w *world) checkRefusals() {
	w.t.Helper()
	refused := map[string]bool{}
	for _, q := range w.requests() {
		if q.refused() {
			refused[q.String()] = true
		}
	}
	for _, q := range slices.Sorted(maps.Keys(refused)) {
		w.t.Errorf("refused: %s", q)
	}
}

// needed counts the requests that needed each right. Each of them needs one of the manifest's, or none.
func (w *world) needed() map[string]int {
	w.t.Helper()
	count := map[string]int{}
	granted := w.manifest.rights(w.t)
	for _, q := range w.requests() {
		i := slices.IndexFunc(granted, func(r right) bool { return r.covers(q) })
		switch {
		case i >= 0:
			count[granted[i].String()]++
		case q.ObjectRef == nil && everybodys(q):
		default:
			w.t.Errorf("not by a right of the manifest: %s", q)
		}
	}
	return count
}

// checkRights: each right of the manifest was needed, but for listRights.
func (w *world) checkRights() {
	w.t.Helper()
	needed, lists := w.needed(), listRights()
	for _, r := range w.manifest.rights(w.t) {
		n := needed[r.String()]
		w.t.Logf("%-70s %d", r, n)
		if n == 0 && !lists[r.String()] {
			w.t.Errorf("%s: granted, and not needed", r)
		}
		delete(lists, r.String())
	}
	for r := range lists {
		w.t.Errorf("%s: not granted", r)
	}
}

// everybodys reports whether every authenticated account may do that: roles system:discovery and system:public-info-viewer.
func everybodys(q request) bool {
	return q.Verb == "get" && slices.ContainsFunc([]string{"/api", "/apis", "/version", "/healthz"}, func(path string) bool {
		return q.RequestURI == path || strings.HasPrefix(q.RequestURI, path+"/") || strings.HasPrefix(q.RequestURI, path+"?")
	})
}
