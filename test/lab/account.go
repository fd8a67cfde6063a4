package lab

import (
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/rbac"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
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
		if err := accounts.Create(ctx, l.Client, o); err != nil {
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
