package api

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// account is the account that the parameter names or, when it names none, the one that the cloud controller manager has.
func account(ctx context.Context, c *fault.Call, v *sim.VCenter) (string, error) {
	name := c.Params.Text("account")
	if name == "" {
		secret, err := credentials(ctx, c)
		if err != nil {
			return "", err
		}
		if name = v.User(); secret != nil && len(secret.Data[userKey(c, v)]) > 0 {
			name = string(secret.Data[userKey(c, v)])
		}
	}
	for _, u := range v.Users() {
		if u.Name == name {
			return name, nil
		}
	}
	return "", &fault.Refusal{Code: "not-found", Message: fmt.Sprintf("vCenter %s has no account %q", v.Name(), name)}
}

// The keys of the Secret are the addresses of vCenters with these behind them.
func userKey(c *fault.Call, v *sim.VCenter) string     { return hostOf(c, v) + ".username" }
func passwordKey(c *fault.Call, v *sim.VCenter) string { return hostOf(c, v) + ".password" }

// hostOf is by what the clients of the cluster reach a vCenter: pods may do so at another address than it listens at.
func hostOf(c *fault.Call, v *sim.VCenter) string {
	if c.Ground.Host != nil {
		return c.Ground.Host(v.Name())
	}
	return v.Host()
}

// credentials is the Secret with the accounts of the vCenters; nil where there is no cluster.
func credentials(ctx context.Context, c *fault.Call) (*corev1.Secret, error) {
	if c.Ground.Cluster == nil {
		return nil, nil
	}
	namespace, name := c.Ground.Cluster.Credentials()
	secret, err := c.Ground.Cluster.Client().CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("credentials of the vCenters: %w", err)
	}
	return secret, nil
}

// tell puts another password for the vCenter's account into the Secret, if it has that of before.
func tell(ctx context.Context, c *fault.Call, v *sim.VCenter, from, to string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		secret, err := credentials(ctx, c)
		if err != nil || secret == nil || string(secret.Data[passwordKey(c, v)]) != from {
			return err
		}
		secret.Data[passwordKey(c, v)] = []byte(to)
		_, err = c.Ground.Cluster.Client().CoreV1().Secrets(secret.Namespace).Update(ctx, secret, metav1.UpdateOptions{})
		return err
	})
}
