package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/rbac"
)

// With any values, the permissions are exactly those of the provider.
func TestRightsAreTheProviders(t *testing.T) {
	const account = "cloud-controller-manager"
	for _, test := range []struct {
		name, values string
		want         rbac.Config
	}{
		{name: "defaults", want: rbac.Config{
			Namespace: "kube-system", ServiceAccount: account, SecretNames: []string{"vsphere-cloud-secret"}, LeaderElection: true,
		}},
		{name: "another namespace", want: rbac.Config{
			Namespace: "ccm", ServiceAccount: account, SecretNames: []string{"vsphere-cloud-secret"}, LeaderElection: true,
		}},
		{name: "namespace default", want: rbac.Config{
			Namespace: "default", ServiceAccount: account, SecretNames: []string{"vsphere-cloud-secret"}, LeaderElection: true,
		}},
		{
			name:   "an account of another name, without leader election",
			values: `{serviceAccount: {name: me}, leaderElection: {enabled: false}}`,
			want:   rbac.Config{Namespace: "kube-system", ServiceAccount: "me", SecretNames: []string{"vsphere-cloud-secret"}},
		},
		{
			name: "a Secret for some vCenters alone",
			values: `{vcenters: [{name: z, server: z.test, secretName: zz}, {name: a, server: a.test, username: u, password: p},
				{name: b, server: b.test, secretName: zz}], leaderElection: {namespace: leases}}`,
			want: rbac.Config{
				Namespace: "kube-system", ServiceAccount: account, SecretNames: []string{"vsphere-cloud-secret", "zz"},
				LeaderElection: true, LeaseNamespace: "leases",
			},
		},
		{
			name:   "a Secret for each vCenter",
			values: `{vcenters: [{name: z, server: z.test, secretName: zz}]}`,
			want:   rbac.Config{Namespace: "kube-system", ServiceAccount: account, SecretNames: []string{"zz"}, LeaderElection: true},
		},
		{
			name:   "a configuration that exists",
			values: `{config: {create: false}}`,
			want:   rbac.Config{Namespace: "kube-system", ServiceAccount: account, LeaderElection: true},
		},
		{
			name:   "a configuration that exists, and its Secrets",
			values: `{config: {create: false}, rbac: {secretNames: [b, a, b]}}`,
			want: rbac.Config{
				Namespace: "kube-system", ServiceAccount: account, SecretNames: []string{"a", "b"}, LeaderElection: true,
			},
		},
		{
			name:   "metrics for those who may read them",
			values: `{metrics: {securePort: 10258}}`,
			want: rbac.Config{
				Namespace: "ccm", ServiceAccount: account, SecretNames: []string{"vsphere-cloud-secret"}, LeaderElection: true,
				DelegatedAuth: true,
			},
		},
		{
			name: "load balancers in NSX",
			values: `{nsxt: {host: nsx.test, secretName: nsx}, loadBalancer: {size: SMALL, tier1GatewayPath: /infra/tier-1s/t, ipPoolName: p,
				tcpAppProfileName: t, udpAppProfileName: u}, loadBalancerClass: {public: {ipPoolName: q}}}`,
			want: rbac.Config{
				Namespace: "kube-system", ServiceAccount: account, SecretNames: []string{"nsx", "vsphere-cloud-secret"}, LeaderElection: true, LoadBalancers: rbac.OfNSX,
			},
		},
		{
			name:   "load balancers in a configuration that exists",
			values: `{config: {create: false}, rbac: {loadBalancer: true, secretNames: [s]}}`,
			want:   rbac.Config{Namespace: "kube-system", ServiceAccount: account, SecretNames: []string{"s"}, LeaderElection: true, LoadBalancers: rbac.OfNSX},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.want.Pod = true
			want := objects{}
			for _, o := range rbac.Objects(test.want) {
				want[keyOf(t, o)] = o
			}
			if diff := cmp.Diff(want, rights(helmed(t, test.want.Namespace, test.values))); diff != "" {
				t.Errorf("(-provider +chart):\n%s", diff)
			}
		})
	}
}

// With the user's own account or roles none are created.
func TestNoRightsAreCreated(t *testing.T) {
	for _, o := range rights(helmed(t, "kube-system", `{rbac: {create: false}, serviceAccount: {create: false}}`)) {
		t.Errorf("%T is there", o)
	}
}

// rights are the account, roles and bindings.
func rights(all objects) objects {
	found := objects{}
	for key, o := range all {
		switch o.(type) {
		case *corev1.ServiceAccount, *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding, *rbacv1.Role, *rbacv1.RoleBinding:
			found[key] = o
		}
	}
	return found
}
