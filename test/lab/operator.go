package lab

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// userAgent is how the lab introduces itself where anybody asks.
const userAgent = "lab"

// operator is the lab's own session at a vCenter, past its gate.
type operator struct {
	client *govmomi.Client
	tags   *tags.Manager
}

// Operator is an administrator's session of the lab at a vCenter, which the gate knows nothing of.
func (l *Lab) Operator(vcenter string) *govmomi.Client {
	l.t.Helper()
	return l.at(vcenter).client
}

// Tags is the same for the vCenter's tags.
func (l *Lab) Tags(vcenter string) *tags.Manager {
	l.t.Helper()
	return l.at(vcenter).tags
}

func (l *Lab) at(vcenter string) *operator {
	l.t.Helper()
	o := l.operators[vcenter]
	if o == nil {
		l.t.Fatalf("no vCenter %q", vcenter)
	}
	return o
}

// past makes a transport go to the vCenter without its gate. What the client does to verify certificates is in the
// transport's TLS configuration by now.
func past(v *sim.VCenter, t *http.Transport) {
	t.DialTLSContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := v.DialConsole(ctx)
		if err != nil {
			return nil, err
		}
		config := t.TLSClientConfig.Clone()
		config.ServerName = v.Host()
		return tls.Client(conn, config), nil
	}
}

func (l *Lab) operator(v *sim.VCenter) *operator {
	l.t.Helper()
	ctx := l.t.Context()
	sc := soap.NewClient(v.URL(), false)
	if err := sc.SetRootCAs(l.CAFile); err != nil {
		l.t.Fatal(err)
	}
	past(v, sc.DefaultTransport())
	sc.UserAgent = userAgent
	vc, err := vim25.NewClient(ctx, sc)
	if err != nil {
		l.t.Fatal(err)
	}
	user := url.UserPassword(operatorName, operatorPassword)
	client := &govmomi.Client{Client: vc, SessionManager: session.NewManager(vc)}
	if err := client.Login(ctx, user); err != nil {
		l.t.Fatal(err)
	}
	rc := rest.NewClient(vc)
	if err := rc.Login(ctx, user); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(sc.CloseIdleConnections)
	return &operator{client: client, tags: tags.NewManager(rc)}
}
