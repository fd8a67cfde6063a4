package ccm

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/rbac"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
)

// Place is where the objects of a cloud controller manager are in a cluster.
type Place struct {
	// Namespace has the ServiceAccount, the configuration, the credentials and the Lease.
	Namespace string
	// Roles is the name of all roles; "" for the usual names.
	Roles string
	// LoadBalancers says what makes load balancers, if this project's provider does.
	LoadBalancers rbac.LoadBalancers
	// Labels are on all objects.
	Labels map[string]string
}

// Rights returns the ServiceAccount and the roles of a program: those of this project's provider, or of upstream's manifests
// for any other program.
func (p Place) Rights(o Options, elect bool) []runtime.Object {
	objects := p.rights(o, elect)
	if p.Labels != nil {
		for _, o := range objects {
			o.(metav1.Object).SetLabels(p.Labels)
		}
	}
	return objects
}

func (p Place) rights(o Options, elect bool) []runtime.Object {
	if o.Installed != nil {
		return installedRights(o)
	}
	if o.Program.Own {
		return rbac.Objects(rbac.Config{
			Namespace: p.Namespace, ServiceAccount: ServiceAccount, SecretNames: []string{cloudconfig.Secret}, LeaderElection: elect,
			LeaseNamespace: p.Namespace, Roles: p.Roles, LoadBalancers: p.LoadBalancers,
		})
	}
	name := cmp.Or(p.Roles, "system:"+ServiceAccount)
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: ServiceAccount}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: upstreamRules()},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.Namespace, Name: ServiceAccount}},
		},
	}
}

// upstreamRules returns the rules of releases/v1.36/vsphere-cloud-controller-manager.yaml in kubernetes/cloud-provider-vsphere.
// v1.34 has the same rules but for EndpointSlices. Upstream's other role reviews clients of the metrics, which the arguments of
// [Processes] turn off.
func upstreamRules() []rbacv1.PolicyRule {
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	return []rbacv1.PolicyRule{
		rule("", "events", "create", "patch", "update"),
		rule("", "nodes", "*"),
		rule("", "nodes/status", "patch"),
		rule("", "services", "list", "patch", "update", "watch"),
		rule("", "services/status", "patch"),
		rule("", "serviceaccounts", "create", "get", "list", "watch", "update"),
		rule("", "persistentvolumes", "get", "list", "update", "watch"),
		rule("", "endpoints", "create", "get", "list", "watch", "update"),
		rule("discovery.k8s.io", "endpointslices", "get", "list", "watch"),
		rule("", "secrets", "get", "list", "watch"),
		rule("coordination.k8s.io", "leases", "get", "list", "watch", "create", "update"),
	}
}

// grant creates the rights of a program and deletes those of the program before it. The caller holds p.changing, or nothing runs
// yet.
func (p *Processes) grant(ctx context.Context, o Options, elect bool) error {
	client := p.Cluster().Client()
	rights, wanted := p.Place.Rights(o, elect), map[string]bool{}
	for _, o := range rights {
		wanted[objectKey(o)] = true
		err := accounts.Create(ctx, client, o)
		if apierrors.IsAlreadyExists(err) {
			err = accounts.Update(ctx, client, o)
		}
		if err != nil {
			return err
		}
	}
	if a := p.account(o); a != p.account(p.grantedTo) {
		if _, err := p.Tokens.Write(ctx, a); err != nil {
			return err
		}
	}
	p.grantedTo = o
	old := p.granted
	p.granted = rights
	var errs []error
	for _, o := range old {
		if !wanted[objectKey(o)] {
			if err := accounts.Delete(ctx, client, o); !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func objectKey(o runtime.Object) string {
	m := o.(metav1.Object)
	return fmt.Sprintf("%T %s/%s", o, m.GetNamespace(), m.GetName())
}
