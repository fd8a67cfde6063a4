package vcenter

import (
	"context"
	"fmt"
	"net/url"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// loginPatience is how many call timeouts a login may take. A vCenter that asks a directory of users is slow at nothing
// but this, and a login that is given up may yet succeed, as a session that nobody knows of.
const loginPatience = 4

// login makes a session. A refusal wraps ErrInvalidLogin. Nobody is logged in at a vCenter that has not just answered
// something simpler within the call timeout: one that hangs or is too slow to be of use collects no sessions.
func login(ctx context.Context, cfg *Config, creds Credentials) (*Session, error) {
	sc := newSOAPClient(cfg)
	vim, err := greet(ctx, cfg, sc)
	if err == nil {
		err = authenticate(ctx, cfg, vim, creds)
	}
	if err != nil {
		sc.CloseIdleConnections()
		return nil, fmt.Errorf("log in: %w", err)
	}
	vim.RoundTripper = vim25.Retry(vim.RoundTripper, vim25.RetryTemporaryNetworkError, cfg.RoundTrips)
	return newSession(cfg, creds, vim), nil
}

// greet reads what can be read without a session.
func greet(ctx context.Context, cfg *Config, sc *soap.Client) (vim *vim25.Client, err error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.CallTimeout)
	defer cancel()
	vim = &vim25.Client{Client: sc, RoundTripper: cfg.observe(sc)}
	vim.ServiceContent, err = methods.GetServiceContent(ctx, vim)
	return vim, err
}

// authenticate makes vim's connection a session, each way with one call that is not repeated.
func authenticate(ctx context.Context, cfg *Config, vim *vim25.Client, creds Credentials) (err error) {
	ctx, stop := outlive(ctx, farewell)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, loginPatience*cfg.CallTimeout)
	defer cancel()
	m := session.NewManager(vim)
	switch {
	case creds.shared():
		var ticket string
		if ticket, err = cloneTicket(ctx, cfg, creds); err == nil {
			err = m.CloneSession(ctx, ticket)
		}
	case creds.certificate() != nil:
		var header soap.Header
		if header.Security, err = issue(ctx, cfg, vim, creds); err == nil {
			err = m.LoginByToken(vim.WithHeader(ctx, header))
		}
	default:
		err = m.Login(ctx, url.UserPassword(creds.User, creds.Password))
	}
	if err != nil && vim.SessionCookie() != nil {
		// The session was made; it is the rest of the answer that got lost.
		newSession(cfg, creds, vim).logout(ctx)
	}
	if fault.Is(err, &types.InvalidLogin{}) {
		err = fmt.Errorf("%s: %w", creds, ErrInvalidLogin)
	}
	return err
}
