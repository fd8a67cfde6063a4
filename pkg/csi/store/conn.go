package store

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/cns"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

type conn struct {
	client  *vcenter.Client
	opts    *Options
	log     *slog.Logger
	created time.Time
	end     context.CancelFunc // of its waiter for tasks; set by the store

	callSlots chan struct{}            // a semaphore for concurrent calls
	preparing chan struct{}            // of capacity 1: a lock for creating services
	services  atomic.Pointer[services] // of the newest session; nil before the first call
	tasks     *tasks
}

func newConn(client *vcenter.Client, o *Options) *conn {
	c := &conn{
		client: client, opts: o, log: o.Logger.With("vcenter", client.Name()), created: time.Now(),
		callSlots: make(chan struct{}, o.Calls), preparing: make(chan struct{}, 1),
	}
	c.tasks = newTasks(c)
	return c
}

func (c *conn) name() string { return c.client.Name() }

// call makes one call. Its error is a *faultError if the vCenter refuses it, ctx's error if that has ended, and otherwise wraps
// volume.ErrUnavailable.
func (c *conn) call(ctx context.Context, f func(context.Context, *services) error) error {
	select {
	case c.callSlots <- struct{}{}:
		defer func() { <-c.callSlots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := c.try(ctx, f)
	if errors.Is(err, vcenter.ErrNotConnected) && c.waitGrace(ctx) {
		err = c.try(ctx, f)
	}
	return err
}

// try makes one call on the current session, and creates the session's services first if needed.
func (c *conn) try(ctx context.Context, f func(context.Context, *services) error) (err error) {
	for range 3 { // the session may change in between
		if err = c.prepare(ctx); errors.Is(err, errNotPrepared) {
			continue
		}
		if err != nil {
			return err
		}
		err = c.exchange(ctx, func(ctx context.Context, s *vcenter.Session) error {
			svc := c.services.Load()
			if svc == nil || svc.session != s {
				return errNotPrepared
			}
			return f(ctx, svc)
		})
		if !errors.Is(err, errNotPrepared) {
			return err
		}
	}
	return err
}

// exchange is one exchange with the vCenter; its error is call's.
func (c *conn) exchange(ctx context.Context, f func(context.Context, *vcenter.Session) error) error {
	var met error // f's own error, because the returned one hides its type
	err := c.client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		met = f(ctx, s)
		return met
	})
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if met != nil {
		if e := fromSOAP(met); e != nil {
			if _, ended := e.fault.(*types.NotAuthenticated); !ended {
				return e
			}
		}
	}
	return fmt.Errorf("%w: %w", volume.ErrUnavailable, err)
}

// waitGrace waits for a connection for Grace after it was lost, or after the start.
func (c *conn) waitGrace(ctx context.Context) bool {
	lost := c.client.State().Since
	if lost.IsZero() {
		lost = c.created
	}
	ctx, cancel := context.WithDeadline(ctx, lost.Add(c.opts.Grace))
	defer cancel()
	_, err := c.client.Wait(ctx)
	return err == nil
}

// services are the endpoints of one vCenter that share one session. They are immutable.
type services struct {
	session *vcenter.Session
	vim     *vim25.Client
	cns     soap.RoundTripper // at /vsanHealth
	// user is the session's user, which CNS stores with the cluster's volumes.
	user string
}

// errNotPrepared reports that a new session has no services yet.
var errNotPrepared = errors.New("new session")

// prepare creates the services of the current session, if needed. It takes two exchanges, once per session.
func (c *conn) prepare(ctx context.Context) error {
	if c.prepared() {
		return nil
	}
	select {
	case c.preparing <- struct{}{}:
		defer func() { <-c.preparing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if c.prepared() {
		return nil
	}
	var svc *services
	err := c.exchange(ctx, func(ctx context.Context, s *vcenter.Session) error {
		endpoint := endpoint(s)
		svc = &services{session: s, vim: s.Vim, cns: c.observed(endpoint)}
		return useVersion(ctx, endpoint)
	})
	if err != nil {
		return err
	}
	err = c.exchange(ctx, func(ctx context.Context, s *vcenter.Session) error {
		if s != svc.session {
			return errNotPrepared
		}
		user, err := session.NewManager(s.Vim).UserSession(ctx)
		if user != nil {
			svc.user = user.UserName
		}
		return err
	})
	if err != nil {
		return err
	}
	c.services.Store(svc)
	return nil
}

func (c *conn) prepared() bool {
	s, err := c.client.Session()
	if err != nil {
		return false
	}
	svc := c.services.Load()
	return svc != nil && svc.session == s
}

// endpoint returns a client for CNS's path at the vCenter, with the session's cookie and connections.
func endpoint(s *vcenter.Session) *soap.Client {
	sc := s.Vim.NewServiceClient(cns.Path, cns.Namespace)
	sc.Transport = s.Vim.Transport // which retries rejected calls
	return sc
}

// useVersion reads the API version that the vCenter supports at /vsanHealth. Without one, the version of the vim API is used.
func useVersion(ctx context.Context, sc *soap.Client) error {
	u := sc.URL()
	u.Path = "/sdk/vsanServiceVersions.xml"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), nil)
	if err != nil {
		return err
	}
	var versions struct {
		Namespace string `xml:"namespace>name"`
		Version   string `xml:"namespace>version"`
	}
	err = sc.Do(ctx, req, func(res *http.Response) error {
		if res.StatusCode == http.StatusNotFound {
			return nil
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", u.Path, res.Status)
		}
		return xml.NewDecoder(res.Body).Decode(&versions)
	})
	if err != nil {
		return err
	}
	if versions.Namespace != "" {
		sc.Namespace, sc.Version = versions.Namespace, versions.Version
	}
	return nil
}
