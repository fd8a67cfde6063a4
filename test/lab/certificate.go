package lab

import (
	"net"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
)

// NewCertificate has a vCenter show a new certificate, signed by ca, and cuts its connections. [Lab.CA] is the authority
// that CCMs trust.
func (l *Lab) NewCertificate(vcenter string, ca *cert.CA) error {
	l.t.Helper()
	v, ok := l.VCenter(vcenter)
	if !ok {
		l.t.Fatalf("no vCenter %q", vcenter)
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: vcenter, DNSNames: []string{"localhost"}, IPs: []net.IP{net.ParseIP(v.Host())}})
	if err != nil {
		return err
	}
	if err := v.Gate().SetCertificate(pair.TLS()); err != nil {
		return err
	}
	v.Gate().CutConnections()
	return nil
}
