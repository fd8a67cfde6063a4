package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func ccmTokenRevoked() *fault.Kind {
	return tokenRevoked(fault.Kind{
		Name: "ccm.token-revoked", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered, fault.Children}, Touches: "token",
		Short: "deletes the ServiceAccount of the cloud controller manager, and its token with it",
		Long: "The API server takes the token for up to ten seconds more, while it remembers to have checked it; then every call is unauthorized. " +
			"Healing creates the ServiceAccount again, whose old tokens stay worthless, hands out a new one, and starts the cloud controller manager again: " +
			"by itself it looks at its token once a minute, which is why people delete its pods then.",
	}, func(*fault.Call) (one, error) { return one{ccm}, nil }, restartAll)
}

// tokenRevoked completes a kind that deletes the ServiceAccount of a component; again starts what has a token of it.
func tokenRevoked(k fault.Kind, which picker, again func(context.Context, *fault.Call) error) *fault.Kind {
	return fault.New(k, fault.Steps[corev1.ServiceAccount]{
		Plan: func(ctx context.Context, c *fault.Call) (before corev1.ServiceAccount, does string, err error) {
			o, err := which(c)
			if err != nil {
				return before, "", err
			}
			namespace, name, err := c.Ground.Cluster.Account(o.Component)
			if err != nil {
				return before, "", err
			}
			if _, ok := c.Ground.Processes.(renewer); !ok {
				return before, "", &fault.Refusal{Code: "unsupported", Message: "nobody hands out tokens here: there would be no way back"}
			}
			sa, err := c.Ground.Cluster.Client().CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return before, "", fault.Refuse("ServiceAccount %s/%s: does not exist", namespace, name)
			}
			if err != nil {
				return before, "", err
			}
			before = *sa
			before.ObjectMeta = fresh(sa.ObjectMeta)
			return before, "delete ServiceAccount " + namespace + "/" + name, nil
		},
		Apply: func(ctx context.Context, c *fault.Call, sa *corev1.ServiceAccount) error {
			tell(c, "rbac.changed", event.Object{Kind: "ServiceAccount", Name: sa.Name}, "deleted")
			return c.Ground.Cluster.Client().CoreV1().ServiceAccounts(sa.Namespace).Delete(ctx, sa.Name, metav1.DeleteOptions{})
		},
		Revert: func(ctx context.Context, c *fault.Call, sa *corev1.ServiceAccount) error {
			_, err := c.Ground.Cluster.Client().CoreV1().ServiceAccounts(sa.Namespace).Create(ctx, sa, metav1.CreateOptions{})
			if err := unless(err, apierrors.IsAlreadyExists); err != nil {
				return err
			}
			o, err := which(c)
			if err != nil {
				return err
			}
			if p, ok := c.Ground.Processes.(renewer); ok {
				if err := p.RenewToken(ctx, o.Component); err != nil {
					return err
				}
			}
			return again(ctx, c)
		},
	})
}
