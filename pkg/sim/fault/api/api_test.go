package api

import (
	"context"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

// trial is one fault that a client of vCenter us feels.
type trial struct {
	kind   string
	params map[string]string
	// before prepares something, and returns what has to be true while the fault lasts.
	before func(t *testing.T, w *faulttest.World) func(t *testing.T)
}

// fails returns a trial of which a client's calls fail, and those of others do not. Without want there is no answer.
func fails(agent, other string, want func(error) bool) func(*testing.T, *faulttest.World) func(*testing.T) {
	return func(_ *testing.T, w *faulttest.World) func(*testing.T) {
		return func(t *testing.T) {
			ctx := t.Context()
			if want == nil { // no vCenter answers
				ctx, want = soon(t), late
			}
			if err := call(ctx, w, "us", agent); err == nil || !want(err) {
				t.Errorf("%s: %v", agent, err)
			}
			if other == "" {
				return
			}
			if err := call(t.Context(), w, "us", other); err != nil {
				t.Errorf("%s: %v", other, err)
			}
		}
	}
}

func says(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

func isFault(want types.BaseMethodFault) func(error) bool {
	return func(err error) bool { return vimfault.Is(err, want) }
}

func late(err error) bool { return errors.Is(err, context.DeadlineExceeded) || says("EOF")(err) }

type set = map[string]string

func trials() []trial {
	return []trial{
		{"vcenter.down", nil, fails(agentCCM, "", says("connection refused"))},
		{"vcenter.down", set{"client": "ccm"}, fails(agentUpstream, agentGovc, says("EOF"))},
		{"vcenter.down", set{"client": "csi"}, fails(agentCSI, agentCCM, says("EOF"))},
		{"vcenter.down", set{"client": "govc", "transport": "rest"}, fails(agentGovc, agentCCM, says("EOF"))},
		{"vcenter.black-hole", nil, fails(agentCCM, "", nil)},
		{"vcenter.black-hole", set{"client": "csi"}, fails(agentCSI, agentGovc, nil)},
		{"vcenter.hang", set{"client": "ccm"}, hangs},
		{"vcenter.latency", set{"client": "ccm", "delay": "400ms", "jitter": "50ms"}, slow},
		{"vcenter.unavailable", nil, fails(agentCCM, "", says("503"))},
		{"vcenter.unavailable", set{"client": "my-tool", "code": "502"}, fails("my-tool/1", agentCCM, says("502"))},
		{"cns.down", nil, ends(askCNS, says("503"))},
		{"cns.down", set{"how": "reset"}, ends(askCNS, says("connection reset"))},
		{"cns.down", set{"how": "hung"}, ends(askCNS, nil)},
		{"spbm.down", nil, ends(askSPBM, says("503"))},
		{"vcenter.throttled", set{"rate": "1"}, throttles},
		{"vcenter.reset-mid-body", set{"client": "ccm", "methods": "FindByInventoryPath"}, fails(agentCCM, agentGovc, says("connection reset"))},
		{
			"vcenter.soap-fault",
			set{"client": "ccm", "fault": "NoPermission", "methods": "FindByInventoryPath"},
			fails(agentCCM, agentGovc, isFault(&types.NoPermission{})),
		},
		{"vcenter.rest-error", set{"client": "ccm", "error": "UNAUTHORIZED", "methods": "/rest/com/vmware/cis/tagging/*"}, fails(agentCCM, agentGovc, says("403"))},
		{"vcenter.sessions-expiring", set{"client": "ccm", "calls": "3"}, expires},
		{"vcenter.session-cap", set{"sessions": "2"}, capped},
		{"vcenter.account-locked", set{"client": "ccm"}, fails(agentCCM, agentGovc, isFault(&types.InvalidLogin{}))},
		{"vcenter.certificate-rotated", nil, rotates},
		{"vcenter.certificate-rotated", set{"authority": "other"}, fails(agentCCM, "", as[x509.UnknownAuthorityError])},
		{"vcenter.certificate-expired", nil, fails(agentCCM, "", expired)},
		{"vcenter.certificate-wrong-name", nil, fails(agentCCM, "", as[x509.HostnameError])},
		{"vcenter.password-rotated", nil, forgets},
		{"vcenter.permission-missing", set{"datacenter": "dcus"}, blinds},
		{"vcenter.permission-missing", nil, blinds},
		{"vcenter.watch-truncated", nil, truncates},
	}
}

func as[E error](err error) bool {
	var want E
	return errors.As(err, &want)
}

func expired(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

// Every fault affects the calls that it selects, no others, and ends when it is healed.
func TestFaults(t *testing.T) {
	for _, tc := range trials() {
		name := tc.kind
		for _, key := range []string{"client", "authority", "datacenter", "how"} {
			if v := tc.params[key]; v != "" {
				name += " " + v
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := faulttest.Start(t, source)
			us, _ := w.VCenter("us")
			well := func() {
				t.Helper()
				for _, vc := range []string{"us", "eu"} {
					for _, agent := range []string{agentCCM, agentGovc} {
						if err := call(t.Context(), w, vc, agent); err != nil {
							t.Errorf("vCenter %s, %s: %v", vc, agent, err)
						}
					}
				}
				if rules := us.Gate().Rules(); len(rules) > 0 {
					t.Errorf("rules are left: %+v", rules)
				}
			}
			well()
			felt := tc.before(t, w)
			request := fault.Request{Kind: tc.kind, On: faulttest.On("us"), Params: tc.params, Seed: 1}
			w.Plan(t, Kinds(), request)
			if err := call(t.Context(), w, "us", agentCCM); err != nil {
				t.Errorf("a plan is felt: %v", err)
			}
			lease := w.Inject(t, Kinds(), request)
			if lease.State != fault.Active {
				t.Errorf("lease %+v", lease)
			}
			felt(t)
			if err := call(t.Context(), w, "eu", agentCCM); err != nil {
				t.Errorf("the other vCenter: %v", err)
			}
			if r := w.Refused(t, Kinds(), request); r.Code != "conflict" {
				t.Errorf("the same again: %+v", r)
			}
			w.Heal(t, lease.ID)
			well()
		})
	}
}

// hangs has a call that is under way answered in the end.
func hangs(t *testing.T, w *faulttest.World) func(*testing.T) {
	c := logged(t, w, "us", agentCCM)
	answered := make(chan error, 1)
	t.Cleanup(func() {
		if err := <-answered; err != nil {
			t.Errorf("a call that was held back: %v", err)
		}
	})
	return func(t *testing.T) {
		go func() { answered <- c.askSOAP(context.WithoutCancel(t.Context()), "us") }()
		fails(agentCCM, agentGovc, nil)(t, w)(t)
	}
}

func slow(t *testing.T, w *faulttest.World) func(*testing.T) {
	c := logged(t, w, "us", agentCCM)
	return func(t *testing.T) {
		start := time.Now()
		if err := c.askREST(t.Context()); err != nil || time.Since(start) < 350*time.Millisecond {
			t.Errorf("answered %v after %s", err, time.Since(start))
		}
	}
}

func throttles(t *testing.T, w *faulttest.World) func(*testing.T) {
	c := logged(t, w, "us", agentCCM)
	return func(t *testing.T) {
		passed, refused := 0, 0
		for range 50 {
			switch err := c.askSOAP(t.Context(), "us"); {
			case err == nil:
				passed++
			case says("503")(err):
				refused++
			default:
				t.Error(err)
			}
		}
		if passed == 0 || refused == 0 {
			t.Errorf("%d calls passed, %d did not", passed, refused)
		}
	}
}

func expires(t *testing.T, w *faulttest.World) func(*testing.T) {
	c, other := logged(t, w, "us", agentCCM), logged(t, w, "us", agentGovc)
	return func(t *testing.T) {
		for range 2 { // and the login that follows is good for as many
			var err error
			n := 0
			for ; err == nil && n < 10; n++ {
				err = c.askSOAP(t.Context(), "us")
			}
			if n != 4 || !vimfault.Is(err, &types.NotAuthenticated{}) {
				t.Errorf("call %d: %v", n, err)
			}
			if err := c.SessionManager.Login(t.Context(), c.user); err != nil {
				t.Error(err)
			}
		}
		for range 10 {
			if err := other.ask(t.Context(), "us"); err != nil {
				t.Error(err)
			}
		}
	}
}

func capped(t *testing.T, w *faulttest.World) func(*testing.T) {
	c := logged(t, w, "us", agentCCM) // one session of SOAP, one of REST
	return func(t *testing.T) {
		if err := c.ask(t.Context(), "us"); err != nil {
			t.Errorf("an open session: %v", err)
		}
		if err := call(t.Context(), w, "us", agentGovc); err == nil || !says("503")(err) {
			t.Errorf("a third session: %v", err)
		}
		_ = c.SessionManager.Logout(t.Context())
		if err := c.SessionManager.Login(t.Context(), c.user); err != nil {
			t.Errorf("where one has gone: %v", err)
		}
		c.logout()
	}
}

func rotates(t *testing.T, w *faulttest.World) func(*testing.T) {
	before := handshake(t, w)
	t.Cleanup(func() {
		if now := handshake(t, w); now != before {
			t.Error("the first certificate is not back")
		}
	})
	return func(t *testing.T) {
		if now := handshake(t, w); now == before {
			t.Error("the certificate is the same")
		}
		if err := call(t.Context(), w, "us", agentCCM); err != nil {
			t.Errorf("whoever trusts the authority: %v", err)
		}
	}
}

func forgets(t *testing.T, w *faulttest.World) func(*testing.T) {
	c := logged(t, w, "us", agentCCM)
	return func(t *testing.T) {
		if err := c.askSOAP(t.Context(), "us"); !vimfault.Is(err, &types.NotAuthenticated{}) {
			t.Errorf("an open session: %v", err)
		}
		if err := c.SessionManager.Login(t.Context(), c.user); !vimfault.Is(err, &types.InvalidLogin{}) {
			t.Errorf("the old password: %v", err)
		}
		if err := c.rest.Login(t.Context(), c.user); err == nil || !says("401")(err) {
			t.Errorf("the old password over REST: %v", err)
		}
	}
}

// The kinds that have a trial, or a separate test below, are all kinds.
func TestAllAreTried(t *testing.T) {
	tried := []string{"vcenter.restart", "vcenter.session-expired", "vcenter.event-burst"}
	for _, tc := range trials() {
		if !slices.Contains(tried, tc.kind) {
			tried = append(tried, tc.kind)
		}
	}
	var all []string
	for _, k := range Kinds() {
		all = append(all, k.Name)
	}
	slices.Sort(all)
	slices.Sort(tried)
	if d := cmp.Diff(all, tried); d != "" {
		t.Error(d)
	}
}
