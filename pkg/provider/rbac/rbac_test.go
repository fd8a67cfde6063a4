package rbac

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// No permission is broader than needed: no wildcards, Secrets and Leases by name, cluster-wide only nodes.
func TestObjects(t *testing.T) {
	objects := Objects(Config{Namespace: "kube-system", ServiceAccount: "ccm", SecretNames: []string{"creds"}, LeaderElection: true})
	check := func(where string, clusterWide bool, rules []rbacv1.PolicyRule) {
		for _, r := range rules {
			for _, s := range slices.Concat(r.APIGroups, r.Resources, r.Verbs, r.ResourceNames) {
				if s == "*" {
					t.Errorf("%s: wildcard in %v", where, r)
				}
			}
			named := len(r.ResourceNames) > 0
			if slices.Contains(r.Resources, "secrets") && (!named || clusterWide) {
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
	if kinds["Role"] != 4 || kinds["RoleBinding"] != 4 || kinds["ClusterRole"] != 1 || kinds[""] != 0 {
		t.Errorf("got %v", kinds)
	}
	again := Objects(Config{Namespace: "kube-system", ServiceAccount: "ccm", SecretNames: []string{"creds", "creds"}, LeaderElection: true})
	if diff := cmp.Diff(objects, again); diff != "" {
		t.Errorf("a name that stands twice counts (-once +twice):\n%s", diff)
	}
	without := Objects(Config{Namespace: "kube-system", ServiceAccount: "ccm"})
	if slices.ContainsFunc(without, func(o runtime.Object) bool {
		r, ok := o.(*rbacv1.Role)
		return ok && r.Namespace != "default"
	}) {
		t.Error("roles for nothing")
	}
}

// Load balancers add what the controller of Services needs, and nothing that changes a Service but its status.
func TestLoadBalancers(t *testing.T) {
	for of, want := range map[LoadBalancers][]string{
		"":           nil,
		OfSupervisor: {"services list watch", "services/status patch", "events create patch"},
		OfNSX:        {"services get list watch", "services/status patch", "namespaces kube-system get", "events create patch"},
	} {
		var got []string
		for _, o := range Objects(Config{Namespace: "ccm", ServiceAccount: "ccm", LoadBalancers: of}) {
			if r, ok := o.(*rbacv1.ClusterRole); ok {
				for _, rule := range r.Rules[len(nodeRules()):] {
					got = append(got, strings.Join(slices.Concat(rule.Resources, rule.ResourceNames, rule.Verbs), " "))
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", of, diff)
		}
	}
}

// Reviews of tokens and access are included only on request, with the roles that every cluster has.
func TestDelegatedAuth(t *testing.T) {
	var got []string
	for _, o := range Objects(Config{Namespace: "ccm", ServiceAccount: "ccm", DelegatedAuth: true}) {
		switch o := o.(type) {
		case *rbacv1.ClusterRoleBinding:
			got = append(got, o.RoleRef.Kind+" "+o.RoleRef.Name)
		case *rbacv1.RoleBinding:
			got = append(got, o.Namespace+": "+o.RoleRef.Kind+" "+o.RoleRef.Name)
		}
	}
	want := []string{
		"ClusterRole system:vsphere-cloud-controller-manager",
		"default: Role vsphere-cloud-controller-manager:events",
		"ClusterRole system:auth-delegator",
		"kube-system: Role extension-apiserver-authentication-reader",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
}

// Events are written to the namespaces of their objects, with one permission each.
func TestEvents(t *testing.T) {
	for _, test := range []struct {
		name   string
		config Config
		want   []string
	}{
		{"nothing but Nodes", Config{Namespace: "ccm"}, []string{"default"}},
		{"all in one", Config{Namespace: "ccm", Pod: true, SecretNames: []string{"s"}, LeaderElection: true, LeaseNamespace: "ccm"}, []string{"default", "ccm"}},
		{"all in default", Config{Namespace: "default", Pod: true, SecretNames: []string{"s"}}, []string{"default"}},
		{
			"each in its own",
			Config{Namespace: "ccm", Pod: true, SecretNames: []string{"s"}, SecretNamespace: "vault", LeaderElection: true},
			[]string{"default", "ccm", "kube-system", "vault"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, o := range Objects(test.config) {
				if r, ok := o.(*rbacv1.Role); ok && r.Name == "vsphere-cloud-controller-manager:events" {
					got = append(got, r.Namespace)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
		})
	}
}
