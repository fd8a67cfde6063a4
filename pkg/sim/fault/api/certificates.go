package api

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// certificate completes a kind that gives a vCenter another certificate. wish says which, and what that is in words.
func certificate(k fault.Kind, wish func(fault.Values) (sim.CertificateWish, string)) *fault.Kind {
	k.Object, k.Needs, k.Touches = fault.VCenter, []fault.Need{fault.Gated}, "certificate"
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
		Short: "gives a vCenter another certificate, of its own authority or a strange one",
		Long: `Open connections are cut, so that clients see it at once. Those that trust the
authority go on, if it is the same; those that pin a thumbprint do not. With a
strange authority nobody goes on who verifies at all.

It heals by the return of the first certificate.`,
		Params: []fault.Param{
			{Name: "authority", Short: "who has signed it", Type: fault.Text, Default: "same", Choices: []string{"same", "other"}},
		},
		Reported: []string{"cloud-provider-vsphere#685"},
	}, func(v fault.Values) (sim.CertificateWish, string) {
		if v.Text("authority") == "other" {
			return sim.CertificateWish{Foreign: true}, "shows a certificate of another authority"
		}
		return sim.CertificateWish{}, "shows a new certificate"
	})
}

func certificateExpired() *fault.Kind {
	return certificate(fault.Kind{
		Name:  "vcenter.certificate-expired",
		Short: "gives a vCenter a certificate that expired an hour ago",
		Long: `Open connections are cut, and whoever verifies refuses to connect: x509 says that
the certificate has expired. It heals by the return of the first certificate.`,
	}, func(fault.Values) (sim.CertificateWish, string) {
		return sim.CertificateWish{Expired: true}, "shows an expired certificate"
	})
}

func certificateWrongName() *fault.Kind {
	return certificate(fault.Kind{
		Name:  "vcenter.certificate-wrong-name",
		Short: "gives a vCenter a certificate for another name than it is reached by",
		Long: `As when clients have its address and the certificate its name: open connections
are cut, and whoever verifies refuses to connect. It heals by the return of the
first certificate.`,
		Params: []fault.Param{
			{Name: "name", Short: "the only name that the certificate is for", Type: fault.Text, Default: "vcenter.invalid"},
		},
	}, func(v fault.Values) (sim.CertificateWish, string) {
		return sim.CertificateWish{Name: v.Text("name")}, "shows a certificate for " + v.Text("name")
	})
}
