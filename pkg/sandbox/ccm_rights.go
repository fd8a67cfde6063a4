package sandbox

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
)

// ccmRights are the ServiceAccount of the cloud controller manager and what it is allowed: of our own what the provider
// itself says, of any other what upstream's manifests say.
func (s *Sandbox) ccmRights(c CCM, elect bool) []runtime.Object {
	return labeled(ccmRights(c, elect, s.ccmNamespace(), s.facts.Namespace), s.facts.Labels)
}

// labeled puts labels on objects.
func labeled(objects []runtime.Object, labels map[string]string) []runtime.Object {
	if labels != nil {
		for _, o := range objects {
			o.(metav1.Object).SetLabels(labels)
		}
	}
	return objects
}

func ccmRights(c CCM, elect bool, namespace, roles string) []runtime.Object {
	if c.Program.Own {
		return rbac.Objects(rbac.Config{
			Namespace: namespace, ServiceAccount: ccmServiceAccount, SecretNames: []string{cloudSecret}, LeaderElection: elect, LeaseNamespace: namespace,
			Roles: roles,
		})
	}
	name := cmp.Or(roles, "system:"+ccmServiceAccount)
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ccmServiceAccount}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: upstreamRules()},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: ccmServiceAccount}},
		},
	}
}

// upstreamRules are those of releases/v1.36/vsphere-cloud-controller-manager.yaml in kubernetes/cloud-provider-vsphere,
// which v1.34 has, too, but for EndpointSlices. Its other role, for reviewing clients of the metrics, is not needed: we
// have it skip that.
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

// grantCCM gives the ServiceAccount the rights of a program, and takes away those that it had for another.
func (s *Sandbox) grantCCM(ctx context.Context, c CCM, elect bool) error {
	rights := s.ccmRights(c, elect)
	wanted := map[string]bool{}
	for _, o := range rights {
		wanted[objectKey(o)] = true
		if err := accounts.Create(ctx, s.cluster.Client(), o); apierrors.IsAlreadyExists(err) {
			err = accounts.Update(ctx, s.cluster.Client(), o)
			if err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	s.ccms.mu.Lock()
	had := s.ccms.rights
	s.ccms.rights = rights
	s.ccms.mu.Unlock()
	var errs []error
	for _, o := range had {
		if !wanted[objectKey(o)] {
			if err := accounts.Delete(ctx, s.cluster.Client(), o); !apierrors.IsNotFound(err) {
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
