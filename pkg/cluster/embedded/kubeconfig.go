package embedded

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// Users without a group: all their rights are granted to them by name.
const (
	// KubeletClient is the API server as a client of kubelets.
	KubeletClient = "kube-apiserver-kubelet-client"
	// MetricsServer is the server of the resource metrics API as a client of the API server and kubelets.
	MetricsServer = "system:metrics-server"
)

// Authority returns the certificate of the cluster's authority, in PEM.
func (c *Cluster) Authority() []byte { return c.pki.ca.Cert }

// NodeServer returns the configuration of a kubelet's server, with its serving certificate in dir. That is for the node's name and
// addresses, and signed again when one of them is new: a kubelet also renews its certificate when its addresses change. The
// socket is the caller's.
func (c *Cluster) NodeServer(dir, node string, addresses []string) (contract.NodeServer, error) {
	s := contract.NodeServer{Certificate: filepath.Join(dir, "kubelet.pem"), ClientCA: filepath.Join(c.pki.dir, "ca.crt")}
	if certifies(s.Certificate, append(slices.Clone(addresses), node)) {
		return s, nil
	}
	leaf := cert.Leaf{CommonName: "system:node:" + node, Organizations: []string{"system:nodes"}, DNSNames: []string{node}}
	for _, a := range addresses {
		if ip := net.ParseIP(a); ip != nil {
			leaf.IPs = append(leaf.IPs, ip)
		}
	}
	pair, err := c.pki.ca.Sign(leaf)
	if err != nil {
		return contract.NodeServer{}, err
	}
	return s, atomicfile.WriteFile(s.Certificate, slices.Concat(pair.Cert, pair.Key), 0o600)
}

// certifies reports whether the certificate in a file is for all these hosts.
func certifies(file string, hosts []string) bool {
	content, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return false
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	return err == nil && !slices.ContainsFunc(hosts, func(h string) bool { return leaf.VerifyHostname(h) != nil })
}

// Kubeconfigs writes kubeconfigs for one address of the API server. Get it from [Cluster.Via].
type Kubeconfigs struct {
	pki    *pki
	server string
}

// Via returns a writer of kubeconfigs for clients that connect to the API server at addr (host:port), which forwards
// connections to it. The host must be a loopback address in the server's certificate: 127.0.0.1.
func (c *Cluster) Via(addr string) Kubeconfigs {
	return Kubeconfigs{pki: c.pki, server: "https://" + addr}
}

// Addr returns the API server's own address, host:port.
func (c *Cluster) Addr() string { return c.listener.Addr().String() }

// Node writes a kubeconfig to path for the kubelet of a node.
func (k Kubeconfigs) Node(path, node string) error {
	return k.pki.kubeconfig(path, k.server, "default", cert.Leaf{CommonName: "system:node:" + node, Organizations: []string{"system:nodes"}})
}

// Token writes a kubeconfig to path. Its client reads its bearer token from tokenFile at each use, as a pod does.
func (k Kubeconfigs) Token(path, context, tokenFile string) error {
	return k.pki.writeKubeconfig(path, k.server, context, &clientcmdapi.AuthInfo{TokenFile: tokenFile})
}

// Token implements [cluster.Cluster]. The host of addr must be in the server's certificate: 127.0.0.1.
func (c *Cluster) Token(path, addr, tokenFile string) error {
	return c.Via(addr).Token(path, "default", tokenFile)
}

// kubeconfig writes a self-contained kubeconfig (for its owner only) with one context of the given name, for a client
// with the certificate that leaf describes.
func (p *pki) kubeconfig(path, server, context string, leaf cert.Leaf) error {
	pair, err := p.ca.Sign(leaf)
	if err != nil {
		return err
	}
	return p.writeKubeconfig(path, server, context, &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key})
}

func (p *pki) writeKubeconfig(path, server, context string, auth *clientcmdapi.AuthInfo) error {
	c := clientcmdapi.NewConfig()
	c.Clusters[context] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: p.ca.Cert}
	c.AuthInfos[context] = auth
	c.Contexts[context] = &clientcmdapi.Context{Cluster: context, AuthInfo: context}
	c.CurrentContext = context
	if err := clientcmd.WriteToFile(*c, path); err != nil { // 0600
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}

// REST returns a copy of the admin's client configuration.
func (c *Cluster) REST() *rest.Config { return rest.CopyConfig(c.rest) }

// pki has the cluster's authorities and certificates, in memory and as files.
type pki struct {
	dir    string
	server string   // the API server's URL
	ca     *cert.CA // signs the API server, kubelets and every client
}

// newPKI creates everything that a cluster needs before it starts, and writes it to dir (which must exist, for its owner
// only). Authorities and the ServiceAccounts' key that dir has already are kept. Roles and names are those of kubeadm's /etc/kubernetes/pki.
func newPKI(dir, server string, host net.IP, serviceIP net.IP) (*pki, error) {
	authority := map[string]*cert.CA{}
	for _, name := range []string{"ca", "etcd-ca", "front-proxy-ca"} {
		ca, err := readAuthority(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			ca, err = cert.NewCA("vsphere-sandbox " + name)
		}
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
		{"apiserver-kubelet-client", "ca", cert.Leaf{CommonName: KubeletClient}},
		{"metrics-server", "ca", cert.Leaf{CommonName: "metrics-server", DNSNames: []string{"metrics-server." + metav1.NamespaceSystem + ".svc"}}},
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
		"metrics-server":     {CommonName: MetricsServer},
	} {
		if err := p.kubeconfig(filepath.Join(dir, name+".kubeconfig"), server, name, leaf); err != nil {
			return nil, err
		}
	}
	return p, p.serviceAccountKey()
}

// readAuthority reads an authority of a snapshot; the error is fs.ErrNotExist if it is missing.
func readAuthority(dir, name string) (*cert.CA, error) {
	certificate, err := os.ReadFile(filepath.Join(dir, name+".crt"))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(filepath.Join(dir, name+".key"))
	if err != nil {
		return nil, err
	}
	return cert.ReadCA(certificate, key)
}

// write stores a pair as name.crt and name.key.
func (p *pki) write(name string, pair *cert.Pair) error {
	if err := os.WriteFile(filepath.Join(p.dir, name+".crt"), pair.Cert, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, name+".key"), pair.Key, 0o600)
}

// serviceAccountKey creates the key that signs and verifies ServiceAccount tokens.
func (p *pki) serviceAccountKey() error {
	if _, err := os.Lstat(filepath.Join(p.dir, "sa.key")); err == nil { // of a snapshot: its tokens stay valid
		return nil
	}
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
