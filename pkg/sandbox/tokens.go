package sandbox

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// tokenLifetime is asked for; the API server may grant another. A token is renewed at four fifths of it.
const tokenLifetime = 24 * time.Hour

// serviceAccount is a ServiceAccount as which a process of the sandbox acts.
type serviceAccount struct {
	namespace, name string
	// file is where the process reads its token.
	file string
	// group is the background group that renews it.
	group string
}

// projectAccount writes a token of the ServiceAccount to the file, and renews it in time, as a kubelet does for a pod.
func (s *Sandbox) projectAccount(ctx context.Context, a serviceAccount) error {
	renewAt, err := s.writeTokenOf(ctx, a)
	if err != nil {
		return err
	}
	s.background.run(a.group, func(ctx context.Context) {
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
			if again, err := s.writeTokenOf(ctx, a); err == nil {
				renewAt = again
			} else {
				s.log.Append(event.Event{
					Plane: event.PlaneSandbox, Level: event.Warning, Kind: "token.renewal-failed",
					Object: event.Object{Kind: "ServiceAccount", Name: a.name}, Message: err.Error(),
				})
			}
		}
	})
	return nil
}

// writeTokenOf returns when the token is to be renewed.
func (s *Sandbox) writeTokenOf(ctx context.Context, a serviceAccount) (renewAt time.Time, err error) {
	seconds := int64(tokenLifetime.Seconds())
	r, err := s.cluster.Client().CoreV1().ServiceAccounts(a.namespace).CreateToken(ctx, a.name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return renewAt, fmt.Errorf("token of ServiceAccount %s/%s: %w", a.namespace, a.name, err)
	}
	if err := s.secrets.Know(r.Status.Token); err != nil {
		return renewAt, err
	}
	if err := atomicfile.WriteFile(a.file, []byte(r.Status.Token), 0o600); err != nil {
		return renewAt, err
	}
	left := time.Until(r.Status.ExpirationTimestamp.Time)
	return time.Now().Round(0).Add(left * 4 / 5), nil
}
