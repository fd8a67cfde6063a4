package vcenter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
)

// farewell is how long a login or a logout that is under way is given when the process ends: cut off, it might leave a
// session behind that nobody knows of.
const farewell = 5 * time.Second

// Session is one login at a vCenter. It may be used from any goroutine until [Session.Done] is closed.
type Session struct {
	// Vim is the logged-in SOAP client.
	Vim *vim25.Client

	cfg   *Config
	creds Credentials
	ctx   context.Context // ends with the session
	end   context.CancelFunc
}

// Done is closed when the session has been given up: it expired, or another one has taken its place.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// newSession is a session that vim is logged in to.
func newSession(cfg *Config, creds Credentials, vim *vim25.Client) *Session {
	s := &Session{Vim: vim, cfg: cfg, creds: creds}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// alive asks the vCenter whether it still knows the session. An error means that it could not be asked.
func (s *Session) alive(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	u, err := session.NewManager(s.Vim).UserSession(ctx)
	if err != nil {
		return false, fmt.Errorf("check session: %w", err)
	}
	return u != nil, nil
}

// logout ends the session as well as it can; what cannot be told to the vCenter runs into its idle timeout.
func (s *Session) logout(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(s.cfg.CallTimeout, farewell))
	defer cancel()
	if err := session.NewManager(s.Vim).Logout(ctx); err != nil {
		s.cfg.Logger.Debug("soap logout", "err", err)
	}
	s.Vim.CloseIdleConnections()
}

// outlive returns a context that ends a while after ctx does.
func outlive(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(while)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(context.Cause(ctx))
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(errors.New("done"))
	}
}
