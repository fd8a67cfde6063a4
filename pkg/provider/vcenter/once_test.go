package vcenter_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// open returns the keys of the vCenter's sessions, of SOAP and of REST.
func (v *target) open() (soap, rest []string) {
	for _, s := range v.Sessions() {
		if s.REST {
			rest = append(rest, s.Key)
		} else {
			soap = append(soap, s.Key)
		}
	}
	return soap, rest
}

// endREST ends only the REST sessions.
func (v *target) endREST(t *testing.T) {
	t.Helper()
	v.rule(t, gate.Rule{Match: gate.Match{Transport: gate.REST}, Action: gate.DropSession{}, Count: 1})
}

// rule puts a rule in force until the test ends or it is removed.
func (v *target) rule(t *testing.T, r gate.Rule) (remove func()) {
	t.Helper()
	id, err := v.Gate().Add(r)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := v.Gate().Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// calls counts the gate's calls of a method, and the failed ones.
func (v *target) calls(method string) (all, failed int64) {
	for _, s := range v.Gate().Stats() {
		if s.Client == agent && strings.HasSuffix(s.Method, method) {
			all, failed = all+s.Calls, failed+s.Errors
		}
	}
	return all, failed
}

const restLogin = "/rest/com/vmware/cis/session"

// textOnly makes a call for which govmomi returns only an error's text.
func textOnly(c *vcenter.Client, ctx context.Context) error { //nolint:revive // as now
	return c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		_, err := tags.NewManager(rc).GetCategories(ctx)
		return err
	})
}

// After any failure of a vCenter or its sessions, there is one session of SOAP and one of REST, and none at the end.
func TestOneSession(t *testing.T) {
	v := start(t)
	c, stop := run(t, v.config())
	works := func(what string) {
		t.Helper()
		connect(t, c)
		for _, call := range []func(*vcenter.Client, context.Context) error{now, categories} {
			if err := call(c, t.Context()); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		eventually(t, what+": one session each", func() bool {
			soap, rest := v.open()
			return len(soap) == 1 && len(rest) == 1
		})
	}
	works("at first")
	for i := range 3 {
		v.EndSessions("")
		works(fmt.Sprint("expired ", i))
		v.endREST(t)
		works(fmt.Sprint("rest expired ", i))
		v.endREST(t)
		if err := textOnly(c, t.Context()); err != nil {
			t.Errorf("rest expired, a call that returns only the text: %v", err)
		}

		if err := v.SetPassword(fmt.Sprint("next-", i)); err != nil {
			t.Fatal(err)
		}
		before := connect(t, c)
		v.setCredentials(v.Password())
		c.CredentialsChanged()
		<-before.Done()
		works(fmt.Sprint("rotated ", i))

		v.gate(t, gate.Down)
		if err := now(c, t.Context()); err == nil {
			t.Error("no error while the vCenter restarts")
		}
		v.EndSessions("")
		v.gate(t, gate.Up)
		works(fmt.Sprint("restarted ", i))
	}
	stop()
	if soap, rest := v.open(); len(soap)+len(rest) != 0 {
		t.Errorf("sessions left: %v %v", soap, rest)
	}
	if _, failed := v.calls("Login"); failed != 0 {
		t.Errorf("%d logins failed", failed)
	}
}

// A live REST session is reused when the SOAP session changes.
func TestRESTOutlivesSOAP(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	connect(t, c)
	if err := categories(c, t.Context()); err != nil {
		t.Fatal(err)
	}
	_, before := v.open()
	admin := v.admin(t)
	if err := admin.SessionManager.TerminateSession(t.Context(), sessions(t, admin)); err != nil {
		t.Fatal(err)
	}
	for _, call := range []func(*vcenter.Client, context.Context) error{now, categories} {
		if err := call(c, t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, after := v.open(); !slices.Equal(before, after) {
		t.Errorf("REST sessions %v, then %v", before, after)
	}
}

// A vCenter with a limit of two sessions is enough, however often they expire: no session is left to its timeout
// (kubernetes-sigs/cluster-api-provider-vsphere#1818).
func TestSessionLimit(t *testing.T) {
	v := startFrom(t, limited("{limit: 2}"))
	c, _ := run(t, v.config())
	for i := range 5 {
		connect(t, c)
		eventually(t, fmt.Sprint("both APIs work ", i), func() bool { return now(c, t.Context()) == nil && categories(c, t.Context()) == nil })
		keys, _ := v.open()
		v.rule(t, gate.Rule{Match: gate.Match{Session: keys[0], Transport: gate.SOAP}, Action: gate.DropSession{}, Count: 1})
		if i%2 == 0 {
			v.endREST(t)
		}
	}
	if soap, rest := v.open(); len(soap) > 1 || len(rest) > 1 {
		t.Errorf("sessions %v %v", soap, rest)
	}
}

// Sessions that expired while unused are replaced when they are needed.
func TestIdleSessions(t *testing.T) {
	v := startFrom(t, limited("{idle: 100ms}"))
	c, _ := run(t, v.config())
	connect(t, c)
	for range 3 {
		for _, call := range []func(*vcenter.Client, context.Context) error{now, categories} {
			if err := call(c, t.Context()); err != nil {
				t.Error(err)
			}
		}
		eventually(t, "no session", func() bool { return len(v.Sessions()) == 0 })
	}
}

// A login whose response is lost or late leaves no session behind.
func TestLoginInterrupted(t *testing.T) {
	for _, tc := range []struct {
		name   string
		action gate.Action
		window gate.Window
	}{
		{"answer cut", gate.Reset{Bytes: 1}, gate.Window{}},
		{"held for longer than a call may take", gate.Hang{}, gate.Window{Until: 2 * shortCall}},
		{"503", gate.HTTPStatus{Code: 503}, gate.Window{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := start(t)
			v.rule(t, gate.Rule{Match: gate.Match{Methods: []string{"Login"}}, Action: tc.action, Window: tc.window, Count: 2})
			cfg := v.config()
			cfg.CallTimeout = shortCall
			c, stop := run(t, cfg)
			connect(t, c)
			if soap, _ := v.open(); len(soap) != 1 {
				t.Errorf("sessions %v, want one", soap)
			}
			stop()
			if soap, _ := v.open(); len(soap) != 0 {
				t.Errorf("sessions left: %v", soap)
			}
		})
	}
}

// The end of the process waits for a login in progress, and logs out.
func TestStopDuringLogin(t *testing.T) {
	v := start(t)
	v.rule(t, gate.Rule{Match: gate.Match{Methods: []string{"Login"}}, Action: gate.Latency{Delay: 200 * time.Millisecond}})
	_, stop := run(t, v.config())
	eventually(t, "a login under way", func() bool { return v.Gate().Rules()[0].Matched > 0 })
	stop()
	if soap, _ := v.open(); len(soap) != 0 {
		t.Errorf("sessions left: %v", soap)
	}
}

// A caller that cancels during a REST login does not leak a session.
func TestImpatientRESTLogin(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	connect(t, c)
	v.rule(t, gate.Rule{Match: gate.Match{Methods: []string{"POST " + restLogin}}, Action: gate.Latency{Delay: 100 * time.Millisecond}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := categories(c, ctx); err == nil {
		t.Error("no error")
	}
	if err := categories(c, t.Context()); err != nil {
		t.Error(err)
	}
	if _, rest := v.open(); len(rest) != 1 {
		t.Errorf("REST sessions %v, want one", rest)
	}
}
