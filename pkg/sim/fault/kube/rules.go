package kube

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// verbs are those that a rule means by "*".
func verbs() []string {
	return []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
}

// without returns rules that do not allow a verb on a resource any more, and everything else as before; an empty verb is
// all of them. Resources of all groups are meant. What a rule allows on everything ("*") it goes on allowing.
func without(rules []rbacv1.PolicyRule, resource, verb string) (left []rbacv1.PolicyRule, changed bool) {
	for _, r := range rules {
		matters := slices.Contains(r.Resources, resource) && (verb == "" || slices.Contains(r.Verbs, verb) || slices.Contains(r.Verbs, rbacv1.VerbAll))
		if !matters {
			left = append(left, r)
			continue
		}
		changed = true
		if others := dropped(r.Resources, resource); len(others) > 0 {
			other := *r.DeepCopy()
			other.Resources = others
			left = append(left, other)
		}
		rest := r.Verbs
		if slices.Contains(rest, rbacv1.VerbAll) {
			rest = verbs()
		}
		if rest = dropped(rest, verb); verb != "" && len(rest) > 0 {
			same := *r.DeepCopy()
			same.Resources, same.Verbs = []string{resource}, rest
			left = append(left, same)
		}
	}
	return left, changed
}

func dropped(list []string, s string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == s })
}
