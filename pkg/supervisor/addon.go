package supervisor

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// addOn is a program of a guest cluster that asks the Supervisor.
type addOn struct {
	// suffix follows the guest cluster's name in those of the account and its Role.
	suffix string
	// secret is the Secret in the guest cluster that has the token, in namespace.
	namespace, secret string
	// dir is the folder of [Place].Dir that is like that Secret, mounted.
	dir    string
	rights func() []rbacv1.PolicyRule
}

// addOns are the cloud controller manager and the CSI driver.
func addOns() []addOn {
	return []addOn{
		{"-ccm", GuestNamespace, CredentialsSecret, CredentialsDir, Rights},
		{"-pvcsi", StorageNamespace, storageSecret, StorageCredentialsDir, storageRights},
	}
}

// account is the name of the ServiceAccount and of its Role.
func (a addOn) account(guest string) string { return guest + a.suffix }

// tokenSecret is the Secret in the Supervisor with the token of that account.
func (a addOn) tokenSecret(guest string) string { return a.account(guest) + "-secret" }

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	var all []string
	for _, r := range resources {
		all = append(all, r, r+"/status")
	}
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: all, Verbs: verbs}
}

// Rights are those that a Supervisor gives the cloud controller manager of a guest cluster, in the guest's namespace.
func Rights() []rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	write := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	return []rbacv1.PolicyRule{
		rule(vmGroup, read, "virtualmachines"),
		rule(vmGroup, write, "virtualmachineservices"),
		rule(nsxGroup, write, "ippools", "routesets"),
		rule(vpcGroup, write, "staticroutes", "ipaddressallocations"),
	}
}

// storageRights are those that a Supervisor gives the CSI driver of a guest cluster, in the guest's namespace.
func storageRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{vmGroup}, Resources: []string{"virtualmachines"}, Verbs: []string{"get", "list", "watch", "update", "patch"}},
		{APIGroups: []string{cnsGroup}, Resources: []string{"cnsvolumemetadatas"}, Verbs: []string{"get", "list", "watch", "update", "patch", "create", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"get", "list", "watch", "update", "patch", "create", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims/status"}, Verbs: []string{"get", "update", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
	}
}

// grant creates the ServiceAccounts of a guest cluster, with their rights.
func (s *Supervisor) grant(ctx context.Context, g Guest) error {
	var errs []error
	for _, a := range addOns() {
		name := metav1.ObjectMeta{Namespace: g.Namespace, Name: a.account(g.Name)}
		rbac := s.core.RbacV1()
		_, account := s.core.CoreV1().ServiceAccounts(g.Namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: name}, metav1.CreateOptions{})
		_, role := rbac.Roles(g.Namespace).Create(ctx, &rbacv1.Role{ObjectMeta: name, Rules: a.rights()}, metav1.CreateOptions{})
		_, binding := rbac.RoleBindings(g.Namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: name,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: g.Namespace, Name: name.Name}},
		}, metav1.CreateOptions{})
		errs = append(errs, unlessExists(account), unlessExists(role), unlessExists(binding))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("guest cluster %s: %w", g.Name, err)
	}
	return nil
}
