package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
)

const (
	ccmComponent      = "ccm"
	ccmServiceAccount = "cloud-controller-manager"
	// ccmEventSource is the component name in the Events that our provider writes.
	ccmEventSource = "vsphere-cloud-provider"
	// ccmHost is where its probes and metrics are.
	ccmHost = "127.0.0.1"
)

// configPoll is how often the cloud controller manager looks at its file: a change of the ConfigMap is in the file at once.
const configPoll = 500 * time.Millisecond

// startCCM creates the ServiceAccount and roles of the cloud controller manager and starts it with a token of that
// account: it can do what its roles allow, and nothing else.
func (s *Sandbox) startCCM(ctx context.Context) error {
	c := s.opts.CCM.withDefaults()
	elect := c.Replicas > 1
	if c.Watch != "" && c.Program.Path == c.Watch {
		var err error
		if c.Program, err = s.keepBuild(c.Program); err != nil {
			return err
		}
	}
	if err := s.grantCCM(ctx, c, elect); err != nil {
		return err
	}
	if err := s.tokens.Project(ctx, s.ccmAccount()); err != nil {
		return err
	}
	if err := s.certifyCCM(); err != nil {
		return err
	}
	s.replacing.Lock()
	defer s.replacing.Unlock()
	if err := s.launchCCM(c, elect, 0); err != nil {
		return err
	}
	s.background.Run("ccm health", s.watchCCMHealth)
	if c.Watch != "" {
		s.background.Run("ccm watch", func(ctx context.Context) { s.watchCCMBuilds(ctx, c.Watch) })
	}
	return nil
}

// certifyCCM makes the certificate with which replicas serve probes and metrics, by an authority for nothing else.
func (s *Sandbox) certifyCCM() error {
	ca, err := cert.NewCA("vsphere-sandbox " + ccmComponent)
	if err != nil {
		return err
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: ccmComponent, IPs: []net.IP{net.ParseIP(ccmHost)}})
	if err != nil {
		return err
	}
	s.ccms.trust(ca.Pool())
	return errors.Join(
		os.WriteFile(s.opts.Dir.Path("ccm", "serving.crt"), pair.Cert, 0o600),
		os.WriteFile(s.opts.Dir.Path("ccm", "serving.key"), pair.Key, 0o600))
}

func (s *Sandbox) ccmKubeconfig(component string) string {
	return s.opts.Dir.Path("ccm", component+".kubeconfig")
}

func (s *Sandbox) stopCCM(ctx context.Context) error {
	var errs []error
	for _, group := range []string{"ccm watch", "ccm restart"} { // or they would start one that nobody stops
		errs = append(errs, s.background.End(ctx, group))
	}
	s.ccms.tell(func() { s.ccms.stopped = true }) // who waits for one to become healthy does not any more
	s.replacing.Lock()
	errs = append(errs, stopReplicas(ctx, s.ccms.all()))
	s.replacing.Unlock()
	for _, group := range []string{"ccm health", "ccm leader", "ccm token"} {
		errs = append(errs, s.background.End(ctx, group))
	}
	s.ccms.close()
	return errors.Join(errs...)
}

func (s *Sandbox) tokenFile() string { return s.opts.Dir.Path("ccm", "token") }

// ccmAccount is the ServiceAccount as which cloud controller managers act.
func (s *Sandbox) ccmAccount() accounts.Account {
	return accounts.Account{Namespace: s.ccmNamespace(), Name: ccmServiceAccount, File: s.tokenFile(), Group: "ccm token"}
}
