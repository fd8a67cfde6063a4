package embedded

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
)

// Kubeconfigs writes kubeconfigs for one way to the API server. Get it from [Cluster.Via].
type Kubeconfigs struct {
	pki    *pki
	server string
}

// Via returns what writes kubeconfigs for clients that reach the API server at addr (host:port), from where connections
// are forwarded to it. The host has to be a loopback address that the server's certificate names: 127.0.0.1.
func (c *Cluster) Via(addr string) Kubeconfigs {
	return Kubeconfigs{pki: c.pki, server: "https://" + addr}
}

// Addr is the API server's own address, host:port.
func (c *Cluster) Addr() string { return c.listener.Addr().String() }

// Node writes a kubeconfig to path with which a kubelet is the node of that name, and nothing else.
func (k Kubeconfigs) Node(path, node string) error {
	return k.pki.kubeconfig(path, k.server, "default", cert.Leaf{CommonName: "system:node:" + node, Organizations: []string{"system:nodes"}})
}

// Token writes a kubeconfig to path whose client reads its bearer token from tokenFile at each use, as a pod does with
// its ServiceAccount's.
func (k Kubeconfigs) Token(path, context, tokenFile string) error {
	return k.pki.writeKubeconfig(path, k.server, context, &clientcmdapi.AuthInfo{TokenFile: tokenFile})
}

// Token implements [cluster.Cluster]. The host of addr has to be one that the server's certificate names: 127.0.0.1.
func (c *Cluster) Token(path, addr, tokenFile string) error {
	return c.Via(addr).Token(path, "default", tokenFile)
}

// kubeconfig writes a self-contained kubeconfig (for its owner only) whose one context has the given name, for the
// client that leaf describes.
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

// REST is how to reach the API server as the admin. It is a copy.
func (c *Cluster) REST() *rest.Config { return rest.CopyConfig(c.rest) }
