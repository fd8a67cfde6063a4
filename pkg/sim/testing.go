package sim

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// TB is the part of *testing.T, *testing.B and *testing.F that [Start] uses.
type TB interface {
	Helper()
	Fatal(args ...any)
	Error(args ...any)
	Cleanup(f func())
	TempDir() string
	Context() context.Context
}

// Lab is the set of running vCenters of a test. Its methods fail the test on an error.
type Lab struct {
	*Simulation
	// CAFile has the certificate that verifies every vCenter.
	CAFile string
	// Events is the event log.
	Events *event.Log

	t TB
}

// Start runs the vCenters of a topology until the test ends. source is the name of a built-in topology, such as zones-us-eu, its
// text, which has more than one line, or the path of a file. The vCenters listen on free ports of loopback addresses.
func Start(t TB, source string, settings ...topology.Setting) *Lab {
	t.Helper()
	top, err := scenarios.LoadFrom(source, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return StartWith(t, Options{Topology: top})
}

// StartWith is [Start] with options. Unset options have the defaults of Start.
func StartWith(t TB, opts Options) *Lab {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	if opts.Events == nil {
		opts.Events = event.NewLog(0)
	}
	if len(opts.Addresses) == 0 && opts.Topology != nil {
		opts.Addresses = freeAddresses(len(opts.Topology.Spec.VCenters))
	}
	s, err := New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // a hanging call must fail the test
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	lab := &Lab{Simulation: s, CAFile: filepath.Join(t.TempDir(), "ca.crt"), Events: opts.Events, t: t}
	if err := os.WriteFile(lab.CAFile, s.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	return lab
}

// freeAddresses returns addresses with any port, because tests run concurrently. Several vCenters get separate IP addresses if
// the system has more than one loopback address, because cloud configurations need that.
func freeAddresses(n int) []string {
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = "127.0.0.1:0"
		if n > 1 && runtime.GOOS == "linux" {
			addresses[i] = fmt.Sprintf("127.0.%d.%d:0", 1+i/200, 1+i%200)
		}
	}
	return addresses
}

// Client returns a new session of a vCenter's administrator, which ends with the test.
func (l *Lab) Client(vcenter string) *govmomi.Client {
	l.t.Helper()
	v, ok := l.VCenter(vcenter)
	if !ok {
		l.t.Fatal("no vCenter " + vcenter)
	}
	return l.ClientAs(vcenter, v.User(), v.Password())
}

// ClientAs returns a session of another user.
func (l *Lab) ClientAs(vcenter, user, password string) *govmomi.Client {
	l.t.Helper()
	v, ok := l.VCenter(vcenter)
	if !ok {
		l.t.Fatal("no vCenter " + vcenter)
	}
	sc := soap.NewClient(v.URL(), false)
	if err := sc.SetRootCAs(l.CAFile); err != nil {
		l.t.Fatal(err)
	}
	ctx := l.t.Context()
	client, err := vim25.NewClient(ctx, sc)
	if err != nil {
		l.t.Fatal(err)
	}
	c := &govmomi.Client{Client: client, SessionManager: session.NewManager(client)}
	if err := c.Login(ctx, url.UserPassword(user, password)); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Logout(context.Background()) }) // a test may have stopped the vCenter
	return c
}

// REST returns a session of the administrator at the vCenter's REST endpoint.
func (l *Lab) REST(vcenter string) *rest.Client {
	l.t.Helper()
	v, ok := l.VCenter(vcenter)
	if !ok {
		l.t.Fatal("no vCenter " + vcenter)
	}
	c := rest.NewClient(l.Client(vcenter).Client)
	if err := c.Login(l.t.Context(), url.UserPassword(v.User(), v.Password())); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Logout(context.Background()) })
	return c
}

// CloudConfigFile writes a vsphere.conf with credentials and returns its path.
func (l *Lab) CloudConfigFile() string {
	l.t.Helper()
	conf, err := l.CloudConfig(CloudConfig{CAFile: l.CAFile})
	if err != nil {
		l.t.Fatal(err)
	}
	path := filepath.Join(l.t.TempDir(), "vsphere.conf")
	if err := os.WriteFile(path, conf, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return path
}
