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
	leaf := chain[0]
	switch left := leaf.NotAfter.Sub(o.Now()); {
	case left < 0:
		l.add(Error, "certificate-expiry", "its certificate ended on "+leaf.NotAfter.UTC().Format(time.DateOnly),
			"nothing that verifies it will talk to it", "renew it on the vCenter, or correct this machine's clock")
	case left < soon:
		l.add(Warning, "certificate-expiry", "its certificate ends on "+leaf.NotAfter.UTC().Format(time.DateOnly),
			"nothing that verifies it will talk to it then", "renew it on the vCenter")
	default:
		l.ok("certificate-expiry", "its certificate is good until %s", leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	if err := leaf.VerifyHostname(v.Server); err != nil {
		l.add(Warning, "certificate-name", "its certificate is for another name: "+err.Error(),
			"it is trusted by its thumbprint only, or not verified at all", "put a name into the configuration that is in the certificate")
	} else {
		l.ok("certificate-name", "its certificate is for %s", v.Server)
	}
	if v.Insecure {
		l.add(Warning, "certificate-trust", "its certificate is not verified", "whoever is in between reads the password",
			"take insecureFlag, or GOVC_INSECURE, away, and see what it takes to trust it")
	}
	return true
}
