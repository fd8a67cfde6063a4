package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

const (
	ccmComponent      = "ccm"
	ccmServiceAccount = "cloud-controller-manager"
	// ccmEventSource is the component name in the Events that our provider writes.
	ccmEventSource = "vsphere-cloud-provider"
)

// configPoll is how often the cloud controller manager looks at its file: a change of the ConfigMap is in the file at once.
const configPoll = 500 * time.Millisecond

// tokenLifetime is asked for; the API server may grant another. The token is renewed at four fifths of it.
const tokenLifetime = 24 * time.Hour

// startCCM creates the ServiceAccount and roles of the cloud controller manager and starts it with a token of that
// account: it can do what its roles allow, and nothing else.
func (s *Sandbox) startCCM(ctx context.Context) error {
	if err := s.createCCMAccount(ctx); err != nil {
		return err
	}
	if err := s.projectToken(ctx); err != nil {
		return err
	}
	if err := s.cluster.TokenKubeconfig(s.ccmKubeconfig(), "default", s.tokenFile()); err != nil {
		return err
	}
	s.launchCCM(0)
	return nil
}

func (s *Sandbox) ccmKubeconfig() string { return s.opts.Dir.Path("ccm", "kubeconfig") }

// launchCCM starts the process, for the event cause (0: with the sandbox).
func (s *Sandbox) launchCCM(cause uint64) {
	spec := s.components.spec(child.Spec{
		Name: ccmComponent,
		Env:  withoutProviderVariables(os.Environ()),
		Args: []string{
			"ccm",
			"--cloud-provider=vsphere",
			"--cloud-config=" + s.cloudConfigFile(),
			"--kubeconfig=" + s.ccmKubeconfig(),
			// There is one, and it is started again when it ends: no lease to wait for.
			"--leader-elect=false",
			// Nobody asks it anything; without a port it needs no right to review tokens.
			"--secure-port=0",
			"--node-monitor-period=" + s.opts.Speed.Of(pace.CCMNodeMonitor).String(),
			"--node-status-update-frequency=" + s.opts.Speed.Of(pace.CCMNodeStatusUpdate).String(),
			"--tag-refresh-period=" + s.opts.Speed.Of(pace.TagRefresh).String(),
			"--config-poll-period=" + configPoll.String(),
			"--concurrent-node-syncs=4",
		},
	})
	object := event.Object{Kind: "Component", Name: ccmComponent}
	first := true
	ccm := child.Start(spec, func(ch child.Change) {
		because := uint64(0) // later on it ends and starts for reasons of its own
		switch {
		case ch.State == child.Started && first:
			because, first = cause, false
		case ch.State == child.Stopped:
			because = s.restartCause()
		}
		s.components.note(ch, object, because)
	})
	s.mu.Lock()
	s.ccm = ccm
	s.mu.Unlock()
}

// withoutProviderVariables leaves out what the provider would read its configuration from: VSPHERE_USER and the like, which
// a user of other vSphere tools may have set for a vCenter of flesh and blood.
func withoutProviderVariables(environ []string) []string {
	return slices.DeleteFunc(environ, func(v string) bool {
		return strings.HasPrefix(v, "VSPHERE_") && !strings.HasPrefix(v, "VSPHERE_SANDBOX_")
	})
}

func (s *Sandbox) stopCCM(ctx context.Context) error {
	err := s.background.end(ctx, "ccm restart") // or it would start one that nobody stops
	s.mu.Lock()
	ccm := s.ccm
	s.mu.Unlock()
	if ccm != nil {
		err = errors.Join(err, ccm.Stop(ctx))
	}
	return errors.Join(err, s.background.end(ctx, "ccm token"))
}

func (s *Sandbox) tokenFile() string { return s.opts.Dir.Path("ccm", "token") }

// projectToken writes a token of the ServiceAccount to the file from which the cloud controller manager reads it, and
// renews it in time, as a kubelet does for a pod.
func (s *Sandbox) projectToken(ctx context.Context) error {
	renewAt, err := s.writeToken(ctx)
	if err != nil {
		return err
	}
	s.background.run("ccm token", func(ctx context.Context) {
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
			if again, err := s.writeToken(ctx); err == nil {
				renewAt = again
			} else {
				s.log.Append(event.Event{
					Plane: event.PlaneSandbox, Level: event.Warning, Kind: "ccm.token",
					Object: event.Object{Kind: "Component", Name: ccmComponent}, Message: err.Error(),
				})
			}
		}
	})
	return nil
}

// writeToken returns when the token is to be renewed.
func (s *Sandbox) writeToken(ctx context.Context) (renewAt time.Time, err error) {
	seconds := int64(tokenLifetime.Seconds())
	r, err := s.cluster.Client().CoreV1().ServiceAccounts(cloudNamespace).CreateToken(ctx, ccmServiceAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return renewAt, fmt.Errorf("token of ServiceAccount %s/%s: %w", cloudNamespace, ccmServiceAccount, err)
	}
	if err := replaceFile(s.tokenFile(), []byte(r.Status.Token)); err != nil {
		return renewAt, err
	}
	left := time.Until(r.Status.ExpirationTimestamp.Time)
	return time.Now().Round(0).Add(left * 4 / 5), nil
}
