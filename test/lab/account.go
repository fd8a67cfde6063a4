package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/rbac"
)

// ServiceAccount is whom a CCM runs as, in [Namespace], unless it runs as the admin.
const ServiceAccount = "cloud-controller-manager"

// ServiceAccountUser is what the API server calls it, for [Lab.Refused].
const ServiceAccountUser = "system:serviceaccount:" + Namespace + ":" + ServiceAccount

// account is the ServiceAccount in the cluster, with a token.
type account struct{ kubeconfig string }

// leastPrivilege creates the ServiceAccount with the roles that manifests/ccm gives it, and nothing else.
func (l *Lab) leastPrivilege() (*account, error) {
	if l.account != nil {
		return l.account, nil
	}
	ctx := l.t.Context()
	for _, o := range rbac.Objects(rbac.Config{
		Namespace: Namespace, ServiceAccount: ServiceAccount, SecretNames: []string{SecretName}, LeaderElection: true,
	}) {
		if err := l.create(ctx, o); err != nil {
			return nil, err
		}
	}
	seconds := int64((24 * time.Hour).Seconds())
	token, err := l.Client.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, ServiceAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of ServiceAccount %s: %w", ServiceAccount, err)
	}
	file := l.write("ccm-token", []byte(token.Status.Token))
	a := &account{kubeconfig: filepath.Join(l.Dir, "ccm-kubeconfig")}
	if err := l.Cluster.Via(l.Cluster.Addr()).Token(a.kubeconfig, "default", file); err != nil {
		return nil, err
	}
	l.account = a
	return a, nil
}

// create creates an object of one of the kinds that accounts are made of.
func (l *Lab) create(ctx context.Context, o runtime.Object) (err error) {
	core, roles := l.Client.CoreV1(), l.Client.RbacV1()
	switch o := o.(type) {
	case *corev1.ServiceAccount:
		_, err = core.ServiceAccounts(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
	case *rbacv1.ClusterRole:
		_, err = roles.ClusterRoles().Create(ctx, o, metav1.CreateOptions{})
	case *rbacv1.ClusterRoleBinding:
		_, err = roles.ClusterRoleBindings().Create(ctx, o, metav1.CreateOptions{})
	case *rbacv1.Role:
		_, err = roles.Roles(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
	case *rbacv1.RoleBinding:
		_, err = roles.RoleBindings(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
	default:
		err = fmt.Errorf("%T: no kind that an account is made of", o)
	}
	return err
}
