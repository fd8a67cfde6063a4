package main

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

// rightsOf returns the permissions of a sidecar's ServiceAccount, as "verb group/resource".
func rightsOf(sidecar string) []string {
	var all []string
	for _, o := range objects.Rights(objects.Config{LeaderElection: true, Capacity: true}) {
		var rules []rbacv1.PolicyRule
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			if strings.HasSuffix(o.Name, ":"+sidecar) {
				rules = o.Rules
			}
		case *rbacv1.Role:
			if strings.HasSuffix(o.Name, ":"+sidecar+":leader") || strings.HasSuffix(o.Name, ":"+sidecar+":capacity") {
				rules = o.Rules
			}
		}
		for _, r := range rules {
			for _, verb := range r.Verbs {
				all = append(all, verb+" "+r.APIGroups[0]+"/"+r.Resources[0])
			}
		}
	}
	return all
}

// checkRights fails for requests that the sidecar's ServiceAccount may not make.
func checkRights(t *testing.T, sidecar string, requests []string) {
	t.Helper()
	allowed := rightsOf(sidecar)
	for _, r := range requests {
		if !slices.Contains(allowed, r) {
			t.Errorf("%s does %q, and may not", sidecar, r)
		}
	}
}

// Its Lease is the one in its Role.
func TestLeaseNames(t *testing.T) {
	named := map[string]string{}
	for _, o := range objects.Rights(objects.Config{LeaderElection: true}) {
		if r, ok := o.(*rbacv1.Role); ok {
			for _, rule := range r.Rules {
				for _, name := range rule.ResourceNames {
					named[strings.TrimSuffix(strings.TrimPrefix(r.Name, "vsphere-csi:"), ":leader")] = name
				}
			}
		}
	}
	for _, w := range all() {
		if named[w.name] != w.lease {
			t.Errorf("%s: the Role names %q, the Lease is %q", w.name, named[w.name], w.lease)
		}
	}
}
