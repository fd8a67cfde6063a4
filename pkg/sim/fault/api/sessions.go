package api

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// sessionExpired returns the kind that ends sessions once.
func sessionExpired() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "vcenter.session-expired",
		Short: "ends the sessions that clients have at a vCenter",
		Long: `As when they have been idle for too long, or an administrator has terminated
them: the next call, and any wait for changes that is under way, ends with
NotAuthenticated, or 401 over REST. A login makes a new session.`,
		Object:    fault.VCenter,
		Needs:     []fault.Need{fault.Simulator},
		Params:    without(callers(), "methods", "object"),
		Momentary: true,
		Reported:  []string{"cloud-provider-vsphere#774"},
	}, fault.Steps[kept]{
		Plan: func(_ context.Context, c *fault.Call) (kept, string, error) {
			v, err := vcenter(c)
			if err != nil {
				return kept{}, "", err
			}
			n := 0
			for _, s := range v.Sessions() {
				if ofClient(c.Params, s) {
					n++
				}
			}
			if n == 0 {
				return kept{}, "", fault.Refuse("vCenter %s has no session of %s", v.Name(), victims(c.Params))
			}
			return kept{}, fmt.Sprintf("ends %d sessions of %s", n, victims(c.Params)), nil
		},
		Apply: func(_ context.Context, c *fault.Call, _ *kept) error {
			v, err := vcenter(c)
			if err != nil {
				return err
			}
			n := v.EndSessionsWhere(func(s sim.Session) bool { return ofClient(c.Params, s) })
			c.Note("vcenter.sessions-ended", event.Warning, "%d sessions of %s ended", n, victims(c.Params))
			return nil
		},
	})
}

// ofClient reports whether the parameters select a session.
func ofClient(v fault.Values, s sim.Session) bool {
	m := match(v)
	return (m.Transport == "" || (m.Transport == gate.REST) == s.REST) &&
		m.Caller(s.Client, s.User)
}

// sessionsExpiring returns the kind that ends sessions repeatedly.
func sessionsExpiring() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.sessions-expiring",
		Short: "ends each session at a vCenter after so many calls",
		Long: `Every login is good for so many calls; the next one ends with NotAuthenticated,
or 401 over REST. A client that logs in again continues, one that takes its session
for granted does not.`,
		Params: params([]fault.Param{
			{Name: "calls", Short: "how many calls a login is good for", Type: fault.Number, Default: "10"},
		}, callers()),
	}, func(v fault.Values) (gate.Action, string) {
		n := v.Number("calls")
		return gate.DropSession{After: n}, fmt.Sprintf("ends sessions after %d calls of", n)
	})
}

// limit is the previous limit of sessions.
type limit struct {
	Before int `json:"before"`
}

// sessionCap returns the kind of a vCenter that has no sessions left.
func sessionCap() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "vcenter.session-cap",
		Short: "lets clients have so many sessions at a vCenter, and refuses further logins",
		Long: `A vCenter has so many HTTP sessions and no more. Those that are open stay; with as
many as there may be, a login is answered with status 503: over REST with
"failedToLoginMaxUserSessionCountReached". A client that logs in for each thing
that it does, and never out, uses them up alone.`,
		Object: fault.VCenter,
		Needs:  []fault.Need{fault.Simulator},
		Params: []fault.Param{
			{Name: "sessions", Short: "how many sessions there may be, of SOAP and REST together, with those that are open; at least 1", Type: fault.Number, Default: "1"},
		},
		Aspect:   "session limit",
		Reported: []string{"cluster-api-provider-vsphere#1818", "cluster-api-provider-vsphere#1578", "aws/eks-anywhere#4202"},
	}, fault.Steps[limit]{
		Plan: func(_ context.Context, c *fault.Call) (limit, string, error) {
			v, err := vcenter(c)
			if err != nil {
				return limit{}, "", err
			}
			n := c.Params.Number("sessions")
			if n < 1 {
				return limit{}, "", &fault.Refusal{Code: "invalid", Message: "sessions: a vCenter without any is vcenter.unavailable"}
			}
			return limit{Before: v.SessionLimit()}, fmt.Sprintf("allows %d sessions (%d are open)", n, len(v.Sessions())), nil
		},
		Apply: func(_ context.Context, c *fault.Call, _ *limit) error {
			v, err := vcenter(c)
			if err != nil {
				return err
			}
			v.SetSessionLimit(c.Params.Number("sessions"))
			return nil
		},
		Revert: func(_ context.Context, c *fault.Call, s *limit) error {
			v, err := vcenter(c)
			if err != nil {
				return err
			}
			v.SetSessionLimit(s.Before)
			return nil
		},
	})
}

// certificate returns a kind that gives a vCenter another certificate. wish returns the certificate and its description.
func certificate(k fault.Kind, wish func(fault.Values) (sim.CertificateOptions, string)) *fault.Kind {
	k.Object, k.Needs, k.Aspect = fault.VCenter, []fault.Need{fault.Gated}, "certificate"
	return fault.New(k, fault.Steps[kept]{
		Plan: func(_ context.Context, c *fault.Call) (kept, string, error) {
			v, err := front(c)
			if err != nil {
				return kept{}, "", err
			}
			_, does := wish(c.Params)
			return kept{}, does, planned(v, nil)
		},
		Apply: func(_ context.Context, c *fault.Call, _ *kept) error {
			v, err := front(c)
			if err != nil {
				return err
			}
			w, _ := wish(c.Params)
			to, err := v.NewCertificate(w)
			if err != nil {
				return err
			}
			if err := v.Gate().SetCertificate(to); err != nil {
				return err
			}
			v.Gate().CutConnections()
			return nil
		},
		Revert: func(_ context.Context, c *fault.Call, _ *kept) error {
			v, err := front(c)
			if err != nil {
				return err
			}
			if err := v.Gate().SetCertificate(v.FirstCertificate()); err != nil {
				return err
			}
			v.Gate().CutConnections()
			return nil
		},
	})
}

func certificateRotated() *fault.Kind {
	return certificate(fault.Kind{
		Name:  "vcenter.certificate-rotated",
		Short: "gives a vCenter another certificate, from its own authority or an unknown one",
		Long: `Open connections are cut, so that clients see it at once. Those that trust the
authority continue, if it is the same; those that pin a thumbprint do not. With a
unknown authority every client that verifies refuses it.

It heals by the return of the first certificate.`,
		Params: []fault.Param{
			{Name: "authority", Short: "who has signed it", Type: fault.Text, Default: "same", Choices: []string{"same", "other"}},
		},
		Reported: []string{"cloud-provider-vsphere#685"},
	}, func(v fault.Values) (sim.CertificateOptions, string) {
		if v.Text("authority") == "other" {
			return sim.CertificateOptions{Foreign: true}, "shows a certificate of another authority"
		}
		return sim.CertificateOptions{}, "shows a new certificate"
	})
}

func certificateExpired() *fault.Kind {
	return certificate(fault.Kind{
		Name:  "vcenter.certificate-expired",
		Short: "gives a vCenter a certificate that expired an hour ago",
		Long: `Open connections are cut, and clients that verify refuse to connect: x509 says that
the certificate has expired. It heals by the return of the first certificate.`,
	}, func(fault.Values) (sim.CertificateOptions, string) {
		return sim.CertificateOptions{Expired: true}, "shows an expired certificate"
	})
}

func certificateWrongName() *fault.Kind {
	return certificate(fault.Kind{
		Name:  "vcenter.certificate-wrong-name",
		Short: "gives a vCenter a certificate for another name than it is reached by",
		Long: `As when clients have its address and the certificate its name: open connections
are cut, and clients that verify refuse to connect. Healing restores the
first certificate.`,
		Params: []fault.Param{
			{Name: "name", Short: "the only name that the certificate is for", Type: fault.Text, Default: "vcenter.invalid"},
		},
	}, func(v fault.Values) (sim.CertificateOptions, string) {
		return sim.CertificateOptions{Name: v.Text("name")}, "shows a certificate for " + v.Text("name")
	})
}
