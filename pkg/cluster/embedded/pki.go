package embedded

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
)

// pki is the cluster's authorities and what they signed, in memory and as files.
type pki struct {
	dir    string
	server string   // the API server's own URL
	ca     *cert.CA // signs the API server, kubelets and every client
}

// newPKI makes everything that a cluster needs before it starts, and writes it to dir (which must exist, for its owner
// only). Roles and names are kubeadm's, so that whoever knows its /etc/kubernetes/pki finds their way.
func newPKI(dir, server string, host net.IP, serviceIP net.IP) (*pki, error) {
	authority := map[string]*cert.CA{}
	for _, name := range []string{"ca", "etcd-ca", "front-proxy-ca"} {
		ca, err := cert.NewCA("vsphere-sandbox " + name)
		if err != nil {
			return nil, err
		}
		authority[name] = ca
	}
	p := &pki{dir: dir, server: server, ca: authority["ca"]}
	for name, ca := range authority {
		if err := p.write(name, &ca.Pair); err != nil {
			return nil, err
		}
	}
	for _, c := range []struct {
		file, ca string
		leaf     cert.Leaf
	}{
		{"etcd", "etcd-ca", cert.Leaf{CommonName: "etcd", IPs: []net.IP{host}, Both: true}},
		{"etcd-client", "etcd-ca", cert.Leaf{CommonName: "kube-apiserver-etcd-client"}},
		{"apiserver", "ca", cert.Leaf{
			CommonName: "kube-apiserver",
			DNSNames:   []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
			IPs:        []net.IP{host, serviceIP},
		}},
		{"apiserver-kubelet-client", "ca", cert.Leaf{CommonName: "kube-apiserver-kubelet-client", Organizations: []string{"system:masters"}}},
		{"front-proxy-client", "front-proxy-ca", cert.Leaf{CommonName: "front-proxy-client"}},
	} {
		pair, err := authority[c.ca].Sign(c.leaf)
		if err != nil {
			return nil, err
		}
		if err := p.write(c.file, pair); err != nil {
			return nil, err
		}
	}
	for name, leaf := range map[string]cert.Leaf{
		"controller-manager": {CommonName: "system:kube-controller-manager"},
		"scheduler":          {CommonName: "system:kube-scheduler"},
	} {
		if err := p.kubeconfig(filepath.Join(dir, name+".kubeconfig"), server, name, leaf); err != nil {
			return nil, err
		}
	}
	return p, p.serviceAccountKey()
}

// write stores a pair as name.crt and name.key.
func (p *pki) write(name string, pair *cert.Pair) error {
	if err := os.WriteFile(filepath.Join(p.dir, name+".crt"), pair.Cert, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, name+".key"), pair.Key, 0o600)
}

// serviceAccountKey makes the key that signs and verifies ServiceAccount tokens.
func (p *pki) serviceAccountKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	for name, block := range map[string]*pem.Block{
		"sa.key": {Type: "EC PRIVATE KEY", Bytes: private},
		"sa.pub": {Type: "PUBLIC KEY", Bytes: public},
	} {
		if err := os.WriteFile(filepath.Join(p.dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}
