// Package accounts gives the processes of a sandbox the rights and the tokens of ServiceAccounts, as a kubelet does for pods.
//
// Floor 3.
package accounts

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
)

// tokenLifetime is asked for; the API server may grant another. A token is renewed at four fifths of it.
const tokenLifetime = 24 * time.Hour

// Account is a ServiceAccount as which a process of the sandbox acts.
type Account struct {
	Namespace, Name string
	// File is where the process reads its token.
	File string
	// Group is the background group that renews it.
	Group string
}

// Tokens gives processes tokens of their accounts.
type Tokens struct {
	Client     func() kubernetes.Interface
	Log        *event.Log
	Background *background.Groups
	// AddSecret is called with each token: it is a secret.
	AddSecret func(values ...string) error
}

// Project writes a token of the ServiceAccount to the file, and renews it in time, as a kubelet does for a pod.
func (t *Tokens) Project(ctx context.Context, a Account) error {
	renewAt, err := t.Write(ctx, a)
	if err != nil {
		return err
	}
	t.Background.Run(a.Group, func(ctx context.Context) {
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			// By the clock on the wall: a laptop that slept has not counted the time.
			if time.Now().Round(0).Before(renewAt) {
				continue
			}
			if again, err := t.Write(ctx, a); err == nil {
				renewAt = again
			} else {
				t.Log.Append(event.Event{
					Plane: event.PlaneSandbox, Level: event.Warning, Kind: "token.renewal-failed",
					Object: event.Object{Kind: "ServiceAccount", Name: a.Name}, Message: err.Error(),
				})
			}
		}
	})
	return nil
}

// Write writes a new token to the file, and returns when it must be renewed.
func (t *Tokens) Write(ctx context.Context, a Account) (renewAt time.Time, err error) {
	seconds := int64(tokenLifetime.Seconds())
	r, err := t.Client().CoreV1().ServiceAccounts(a.Namespace).CreateToken(ctx, a.Name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return renewAt, fmt.Errorf("token of ServiceAccount %s/%s: %w", a.Namespace, a.Name, err)
	}
	if err := t.AddSecret(r.Status.Token); err != nil {
		return renewAt, err
	}
	if err := atomicfile.WriteFile(a.File, []byte(r.Status.Token), 0o600); err != nil {
		return renewAt, err
	}
	left := time.Until(r.Status.ExpirationTimestamp.Time)
	return time.Now().Round(0).Add(left * 4 / 5), nil
}

// Create creates an object of one of the kinds that accounts are made of.
func Create(ctx context.Context, client kubernetes.Interface, o runtime.Object) (err error) {
	core, roles := client.CoreV1(), client.RbacV1()
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

// Update brings an object that an account is made of up to date.
func Update(ctx context.Context, client kubernetes.Interface, o runtime.Object) (err error) {
	roles := client.RbacV1()
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		_, err = roles.ClusterRoles().Update(ctx, o, metav1.UpdateOptions{})
	case *rbacv1.ClusterRoleBinding:
		_, err = roles.ClusterRoleBindings().Update(ctx, o, metav1.UpdateOptions{})
	case *rbacv1.Role:
		_, err = roles.Roles(o.Namespace).Update(ctx, o, metav1.UpdateOptions{})
	case *rbacv1.RoleBinding:
		_, err = roles.RoleBindings(o.Namespace).Update(ctx, o, metav1.UpdateOptions{})
	}
	return err // a ServiceAccount stays as it is
}

// Delete deletes an object that an account is made of.
func Delete(ctx context.Context, client kubernetes.Interface, o runtime.Object) error {
	roles := client.RbacV1()
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		return roles.ClusterRoles().Delete(ctx, o.Name, metav1.DeleteOptions{})
	case *rbacv1.ClusterRoleBinding:
		return roles.ClusterRoleBindings().Delete(ctx, o.Name, metav1.DeleteOptions{})
	case *rbacv1.Role:
		return roles.Roles(o.Namespace).Delete(ctx, o.Name, metav1.DeleteOptions{})
	case *rbacv1.RoleBinding:
		return roles.RoleBindings(o.Namespace).Delete(ctx, o.Name, metav1.DeleteOptions{})
	}
	return nil
}
