package store

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/cns"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// services are the endpoints of one vCenter that share one session. They are not changed once they are made.
type services struct {
	session *vcenter.Session
	vim     *vim25.Client
	cns     soap.RoundTripper // at /vsanHealth
	// user is who the session is: CNS writes it beside the cluster's volumes.
	user string
}

// errNotPrepared says that a session has come that has no services yet.
var errNotPrepared = errors.New("new session")

// prepare makes the services of the session at hand, unless they are there. It takes two exchanges, once per session.
func (c *conn) prepare(ctx context.Context) error {
	if c.prepared() {
		return nil
	}
	select {
	case c.making <- struct{}{}:
		defer func() { <-c.making }()
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

// endpoint is CNS's path at the vCenter, with the session's cookie, over the same connections.
func endpoint(s *vcenter.Session) *soap.Client {
	sc := s.Vim.NewServiceClient(cns.Path, cns.Namespace)
	sc.Transport = s.Vim.Transport // which is more patient than the bare one
	return sc
}

// useVersion asks which version of the API the vCenter speaks at /vsanHealth. One that does not say so is spoken to as if
// it were as old as the rest of it.
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
