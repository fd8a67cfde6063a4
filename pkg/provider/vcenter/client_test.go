package vcenter_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func connect(t *testing.T, c *vcenter.Client) *vcenter.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s, err := c.Wait(ctx)
	if err != nil {
		t.Fatalf("not connected: %v; state %+v", err, c.State())
	}
	return s
}

// now makes a call that needs a session.
func now(c *vcenter.Client, ctx context.Context) error { //nolint:revive // in the place of a method of the client
	return c.Do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		_, err := methods.GetCurrentTime(ctx, s.Vim)
		return err
	})
}

func categories(c *vcenter.Client, ctx context.Context) error { //nolint:revive // as now
	return c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		_, err := tags.NewManager(rc).ListCategories(ctx)
		return err
	})
}

func TestNewRefuses(t *testing.T) {
	_, err := vcenter.New(vcenter.Config{Port: 70000})
	for _, want := range []string{"server is empty", "user agent is empty", "credentials are nil", "port 70000"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// A refused login is a typed error, is not repeated without reason, and is repeated at once when the credentials change.
func TestWrongPassword(t *testing.T) {
	v := start(t)
	v.setCredentials("wrong-password")
	cfg := v.config()
	states := make(chan vcenter.State, 16)
	cfg.OnState = func(s vcenter.State) { states <- s }
	c, _ := run(t, cfg)
	s := <-states
	if s.Connected || !errors.Is(s.Err, vcenter.ErrInvalidLogin) || strings.Contains(s.Err.Error(), "wrong-password") {
		t.Errorf("state %+v, want a refused login without the password", s)
	}
	err := now(c, t.Context())
	if !errors.Is(err, vcenter.ErrNotConnected) || !errors.Is(err, vcenter.ErrInvalidLogin) {
		t.Errorf("call: %v", err)
	}
	time.Sleep(50 * time.Millisecond)
	if n := v.timesAsked(); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
	v.setCredentials(v.Password())
	c.CredentialsChanged()
	connect(t, c)
	if err := now(c, t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNoCredentials(t *testing.T) {
	v := start(t)
	cfg := v.config()
	states := make(chan vcenter.State, 16)
	cfg.OnState = func(s vcenter.State) { states <- s }
	cfg.Credentials = func(context.Context) (vcenter.Credentials, error) {
		return vcenter.Credentials{}, errors.New("secret does not exist")
	}
	run(t, cfg)
	if s := <-states; s.Connected || !errors.Is(s.Err, vcenter.ErrNoCredentials) {
		t.Errorf("state %+v", s)
	}
}

// New credentials replace the session; credentials that do not work do not affect it.
func TestRotation(t *testing.T) {
	v := start(t)
	cfg := v.config()
	states := make(chan vcenter.State, 16)
	cfg.OnState = func(s vcenter.State) { states <- s }
	c, _ := run(t, cfg)
	first := connect(t, c)
	<-states
	if err := categories(c, t.Context()); err != nil {
		t.Fatal(err)
	}

	v.setCredentials("not yet known to the vCenter")
	c.CredentialsChanged()
	if s := <-states; !s.Connected || !errors.Is(s.Err, vcenter.ErrInvalidLogin) {
		t.Errorf("state after a bad change: %+v, want connected with a refused login", s)
	}
	if err := now(c, t.Context()); err != nil {
		t.Error(err)
	}

	if err := v.SetPassword("rotated"); err != nil {
		t.Fatal(err)
	}
	v.setCredentials("rotated")
	c.CredentialsChanged()
	<-first.Done()
	if second := connect(t, c); second == first {
		t.Error("the old session is still handed out")
	}
	if s := <-states; !s.Connected || s.Err != nil || s.Rotations != 1 {
		t.Errorf("state after a good change: %+v, want connected and one rotation", s)
	}
	for _, call := range []func(*vcenter.Client, context.Context) error{now, categories} {
		if err := call(c, t.Context()); err != nil {
			t.Error(err)
		}
	}
	admin := v.admin(t)
	eventually(t, "the old session logged out", func() bool { return len(sessions(t, admin)) == 1 })
}

func TestExpiredSession(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	connect(t, c)
	if err := categories(c, t.Context()); err != nil {
		t.Fatal(err)
	}
	admin := v.admin(t)
	if err := admin.SessionManager.TerminateSession(t.Context(), sessions(t, admin)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := now(c, t.Context()); err != nil {
			t.Error(err)
		}
		if err := categories(c, t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := len(sessions(t, admin)); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// A call to a vCenter that does not answer ends with the call timeout, the next one at once.
func TestHungCall(t *testing.T) {
	v := start(t)
	cfg := v.config()
	cfg.CallTimeout = shortCall
	c, _ := run(t, cfg)
	connect(t, c)
	v.gate(t, gate.Hung)
	began := time.Now()
	if err := now(c, t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("call: %v", err)
	}
	if err := now(c, t.Context()); !errors.Is(err, vcenter.ErrNotConnected) {
		t.Errorf("call after it: %v", err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("both took %s", d)
	}
	v.gate(t, gate.Up)
	connect(t, c)
}

// A call that its caller cancels does not put the session in doubt.
func TestImpatientCaller(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	connect(t, c)
	v.gate(t, gate.Hung)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := now(c, ctx); err == nil {
		t.Error("no error")
	}
	if !c.State().Connected {
		t.Errorf("state %+v", c.State())
	}
	v.gate(t, gate.Up)
}

func TestDownAtStart(t *testing.T) {
	v := start(t)
	v.gate(t, gate.Down)
	c, _ := run(t, v.config())
	eventually(t, "an error", func() bool { return c.State().Err != nil })
	v.gate(t, gate.Up)
	connect(t, c)
}

func TestLogout(t *testing.T) {
	v := start(t)
	c, stop := run(t, v.config())
	s := connect(t, c)
	if err := categories(c, t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	<-s.Done()
	if keys := sessions(t, v.admin(t)); len(keys) != 0 {
		t.Errorf("sessions left: %v", keys)
	}
	if err := categories(c, t.Context()); !errors.Is(err, vcenter.ErrNotConnected) {
		t.Errorf("call after the end: %v", err)
	}
}

func TestTrust(t *testing.T) {
	v := start(t)
	other, err := cert.NewCA("other")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(v.Certificate())
	for _, tc := range []struct {
		name string
		edit func(*vcenter.Config)
		ok   bool
	}{
		{"authority", func(*vcenter.Config) {}, true},
		{"other authority", func(c *vcenter.Config) { c.CAData = other.Cert }, false},
		{"no authority", func(c *vcenter.Config) { c.CAData = nil }, false},
		{"no file", func(c *vcenter.Config) { c.CAData, c.CAFile = nil, "/nonexistent/ca.crt" }, false},
		{"insecure", func(c *vcenter.Config) { c.CAData, c.Insecure = nil, true }, true},
		{"thumbprint", func(c *vcenter.Config) { c.CAData, c.Thumbprint = other.Cert, thumbprint(block.Bytes) }, true},
		{"wrong thumbprint", func(c *vcenter.Config) { c.CAData, c.Thumbprint = other.Cert, thumbprint([]byte("x")) }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := v.config()
			tc.edit(&cfg)
			states := make(chan vcenter.State, 100)
			cfg.OnState = func(s vcenter.State) { states <- s }
			run(t, cfg)
			if s := <-states; s.Connected != tc.ok {
				t.Errorf("state %+v, want connected=%v", s, tc.ok)
			}
		})
	}
}

func thumbprint(der []byte) string {
	sum := sha256.Sum256(der)
	var parts []string
	for _, b := range sum {
		parts = append(parts, strings.ToUpper(hex.EncodeToString([]byte{b})))
	}
	return strings.Join(parts, ":")
}
