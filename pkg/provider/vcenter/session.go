package vcenter

import (
	"context"
	"fmt"
	"net/url"
	"sync"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// Session is one login at a vCenter. It may be used from any goroutine until [Session.Done] is closed.
type Session struct {
	// Vim is the logged-in SOAP client.
	Vim *vim25.Client

	cfg   *Config
	creds Credentials
	ctx   context.Context // ends with the session
	end   context.CancelFunc

	restMu sync.Mutex // held during a REST login, so that there is only ever one REST session
	rest   *rest.Client
}

// Done is closed when the session has been given up: it expired, or another one has taken its place.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// login makes a session. A refusal wraps ErrInvalidLogin.
func login(ctx context.Context, cfg *Config, creds Credentials) (*Session, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.CallTimeout)
	defer cancel()
	sc, err := newSOAPClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("vcenter %q: %w", cfg.Name, err)
	}
	vim, err := vim25.NewClient(ctx, sc)
	if err == nil {
		vim.RoundTripper = vim25.Retry(sc, vim25.RetryTemporaryNetworkError, cfg.RoundTrips)
		err = session.NewManager(vim).Login(ctx, url.UserPassword(creds.User, creds.Password))
	}
	if err != nil {
		sc.CloseIdleConnections()
		if fault.Is(err, &types.InvalidLogin{}) {
			err = fmt.Errorf("user %q: %w", creds.User, ErrInvalidLogin)
		}
		return nil, fmt.Errorf("vcenter %q: log in: %w", cfg.Name, err)
	}
	s := &Session{Vim: vim, cfg: cfg, creds: creds}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s, nil
}

// alive asks the vCenter whether it still knows the session. An error means that it could not be asked.
func (s *Session) alive(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	u, err := session.NewManager(s.Vim).UserSession(ctx)
	if err != nil {
		return false, fmt.Errorf("vcenter %q: check session: %w", s.cfg.Name, err)
	}
	return u != nil, nil
}

// logout ends both sessions as well as it can; what cannot be told to the vCenter runs into its idle timeout.
func (s *Session) logout(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	s.restMu.Lock()
	if s.rest != nil {
		if err := s.rest.Logout(ctx); err != nil {
			s.cfg.Logger.Debug("rest logout", "err", err)
		}
		s.rest.CloseIdleConnections()
		s.rest = nil
	}
	s.restMu.Unlock()
	if err := session.NewManager(s.Vim).Logout(ctx); err != nil {
		s.cfg.Logger.Debug("soap logout", "err", err)
	}
	s.Vim.CloseIdleConnections()
}
