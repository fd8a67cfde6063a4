package doors

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// side is a vCenter with clients whose calls are recorded.
type side struct {
	t    testing.TB
	name string
	ctx  context.Context //nolint:containedctx // that of the test
	vim  *vim25.Client
	rest *rest.Client
	user *url.Userinfo
	base string // the address, without a path

	cluster, datastore, vm types.ManagedObjectReference

	calls []trace.Call
}

// stock returns stock vcsim.
func stock(t testing.TB) *side {
	t.Helper()
	v, err := stocksim.Serve(stocksim.Options{User: "user", Password: "pass"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Remove)
	return open(t, "stock vcsim", v.URL(), url.UserPassword("user", "pass"), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // its own certificate
}

// ours returns a simulated vCenter.
func ours(t testing.TB) *side {
	t.Helper()
	lab := sim.Start(t, strings.Replace(stocksim.Topology, "VM1, ", "VM1, power: off, ", 1)) // its guest would change answers
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(lab.CA())
	return open(t, "here", lab.VCenters()[0].URL(), url.UserPassword("user@vsphere.local", "pass"), &tls.Config{RootCAs: pool})
}

func open(t testing.TB, name string, u *url.URL, user *url.Userinfo, trust *tls.Config) *side {
	t.Helper()
	s := &side{t: t, name: name, ctx: t.Context(), user: user, base: "https://" + u.Host}
	u.User = nil
	sc := soap.NewClient(u, false)
	sc.DefaultTransport().TLSClientConfig = trust
	var err error
	s.vim, err = vim25.NewClient(s.ctx, sc)
	s.must(err)
	s.must(session.NewManager(s.vim).Login(s.ctx, user))
	s.rest = rest.NewClient(s.vim)
	s.must(s.rest.Login(s.ctx, user))
	s.tap(s.rest.Client)
	finder := find.NewFinder(s.vim)
	for path, ref := range map[string]*types.ManagedObjectReference{
		"/DC0/host/DC0_C0": &s.cluster, "/DC0/datastore/LocalDS_0": &s.datastore, "/DC0/vm/DC0_C0_RP0_VM1": &s.vm,
	} {
		all, err := finder.ManagedObjectList(s.ctx, path)
		s.must(err)
		if len(all) != 1 {
			t.Fatalf("%s: %d of %s", name, len(all), path)
		}
		*ref = all[0].Object.Reference()
	}
	return s
}

func (s *side) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
}

func (s *side) fails(err error) {
	s.t.Helper()
	if err == nil {
		s.t.Errorf("%s: the call is not refused", s.name)
	}
}

// tap records the calls of a client from now on.
func (s *side) tap(c *soap.Client) { c.Transport = recorder{s, c.Transport} }

// send makes a call as it is, within the session of REST.
func (s *side) send(verb, path, body string) *http.Response {
	s.t.Helper()
	u, err := url.Parse(s.base)
	s.must(err)
	u.Path = path
	req, err := http.NewRequestWithContext(s.ctx, verb, u.String(), bytes.NewReader([]byte(body)))
	s.must(err)
	req.SetBasicAuth(s.user.Username(), "pass")
	req.Header.Set("Vmware-Api-Session-Id", s.rest.SessionID())
	res, err := recorder{s, s.vim.DefaultTransport()}.RoundTrip(req)
	s.must(err)
	return res
}

type recorder struct {
	s    *side
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	res, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(answer))
	call := trace.Call{
		VCenter: "vc", Transport: gate.REST, Method: req.Method + " " + req.URL.Path, Verb: req.Method, URI: req.URL.RequestURI(), Status: res.StatusCode,
		Request: trace.Message{Header: map[string]string{"Content-Type": req.Header.Get("Content-Type"), "SOAPAction": req.Header.Get("SOAPAction")}, Size: int64(len(body)), Body: string(body)},
		Answer:  trace.Message{Size: int64(len(answer)), Body: string(answer)},
	}
	if m := method.FindSubmatch(body); m != nil {
		call.Transport, call.Method = gate.SOAP, string(m[1])
	}
	r.s.calls = append(r.s.calls, call)
	return res, nil
}

var method = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)
