package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// soon is when the end of a certificate is worth a word.
const soon = 30 * 24 * time.Hour

// certificate looks at what the vCenter shows. It is false when nobody is there.
func (l *list) certificate(ctx context.Context, v vcenter.VCenter, o Options) bool {
	patience := o.Patience
	if patience == 0 {
		patience = vcenter.Patience
	}
	dial, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	chain, err := v.Presented(dial)
	if err != nil || len(chain) == 0 {
		l.add(Error, "reachable", fmt.Sprintf("%s does not answer: %v", v.Address(), err), "nothing can be asked",
			"check server and port, name resolution and firewalls on the way")
		return false
	}
	l.ok("reachable", "%s speaks TLS", v.Address())
	leaf, first := chain[0], chain[0]
	for _, one := range chain[1:] { // an authority's may end before those that it signed
		if one.NotAfter.Before(first.NotAfter) {
			first = one
		}
	}
	whose := "its certificate"
	if first != leaf {
		whose = fmt.Sprintf("the certificate of %q, of its chain,", first.Subject)
	}
	end := first.NotAfter.UTC().Format(time.DateOnly)
	switch left := first.NotAfter.Sub(o.Now()); {
	case leaf.NotBefore.After(o.Now()):
		l.add(Error, "certificate-expiry", "its certificate is good from "+leaf.NotBefore.UTC().Format(time.DateTime)+" UTC only",
			"nothing that verifies it will talk to it", "correct this machine's clock, or the vCenter's")
	case left < 0:
		l.add(Error, "certificate-expiry", whose+" ended on "+end, "nothing that verifies it will talk to it",
			"renew it on the vCenter, or correct this machine's clock")
	case left < soon:
		l.add(Warning, "certificate-expiry", whose+" ends on "+end, "nothing that verifies it will talk to it then", "renew it on the vCenter")
	default:
		l.ok("certificate-expiry", "%s is good until %s", whose, end)
	}
	if err := leaf.VerifyHostname(v.Server); err != nil {
		l.add(Warning, "certificate-name", "its certificate is for another name: "+err.Error(),
			"it is trusted by its thumbprint only, or not verified at all", "put a name into the configuration that is in the certificate")
	} else {
		l.ok("certificate-name", "its certificate is for %s", v.Server)
	}
	return true
}

// trust says whom the certificate is vouched for by. Somebody was let in, so there is a reason; it may be a weak one.
func (l *list) trust(ctx context.Context, v vcenter.VCenter) {
	if v.Insecure {
		l.add(Warning, "certificate-trust", "its certificate is not verified", "whoever is in between reads the password",
			"take insecureFlag, or GOVC_INSECURE, away, and see what it takes to trust it")
		return
	}
	pinned := v.Thumbprint != ""
	v.Thumbprint = ""
	conn, err := v.DialTLS(ctx)
	switch {
	case err == nil:
		_ = conn.Close() // nothing was sent on it
		l.ok("certificate-trust", "an authority that is trusted here vouches for its certificate, and the chain is whole")
	case pinned:
		l.add(Warning, "certificate-trust", "its certificate is trusted by its thumbprint, and by no authority",
			"once it is renewed, nothing will talk to it", "give the authority's certificate in place of the thumbprint (caFile, GOVC_TLS_CA_CERTS)")
	default:
		l.add(Warning, "certificate-trust", err.Error(), "it was trusted a moment ago", "ask once more")
	}
}
