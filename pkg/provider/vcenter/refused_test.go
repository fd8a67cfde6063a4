package vcenter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Wrong credentials are not tried repeatedly: neither API locks the account.
func TestRefusedRESTLogin(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	connect(t, c)
	if err := v.SetPassword("changed behind its back"); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := categories(c, t.Context()); !strings.Contains(fmt.Sprint(err), vcenter.ErrInvalidLogin.Error()) {
			t.Errorf("error %v", err)
		}
	}
	if n, _ := v.calls("POST " + restLogin); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
	if err := now(c, t.Context()); err != nil {
		t.Errorf("SOAP: %v", err)
	}
	v.setCredentials(v.Password())
	c.CredentialsChanged()
	eventually(t, "REST works", func() bool { return categories(c, t.Context()) == nil })
}

// TestEmptyCredentials: nothing is tried without credentials (kubernetes/cloud-provider-vsphere#774).
func TestEmptyCredentials(t *testing.T) {
	v := start(t)
	cfg := v.config()
	good := cfg.Credentials
	empty := []vcenter.Credentials{{}, {User: v.User()}, {Password: v.Password()}}
	asked := make(chan int, len(empty)+10)
	cfg.Credentials = func(ctx context.Context) (vcenter.Credentials, error) {
		n := len(asked)
		asked <- n
		if n < len(empty) {
			return empty[n], nil
		}
		return good(ctx)
	}
	cfg.FaultRetry = vcenter.Backoff{Min: 10 * time.Millisecond, Max: 20 * time.Millisecond}
	var states []vcenter.State
	reported := make(chan struct{})
	cfg.OnState = func(s vcenter.State) {
		if states = append(states, s); s.Connected {
			close(reported)
		}
	}
	run(t, cfg)
	<-reported
	for i, s := range states[:len(states)-1] {
		if !strings.Contains(fmt.Sprint(s.Err), vcenter.ErrNoCredentials.Error()) {
			t.Errorf("state %d: %+v", i, s)
		}
	}
	if len(states) != len(empty)+1 {
		t.Errorf("%d states", len(states))
	}
	if all, failed := v.calls("Login"); all != 1 || failed != 0 {
		t.Errorf("%d logins, %d failed; want one that works", all, failed)
	}
}
