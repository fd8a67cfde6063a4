package embedded

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
)

// kubeconfig writes a self-contained kubeconfig (for its owner only) whose one context has the given name, for the
// client that leaf describes.
func (p *pki) kubeconfig(path, context string, leaf cert.Leaf) error {
	pair, err := p.ca.Sign(leaf)
	if err != nil {
		return err
	}
	return p.writeKubeconfig(path, context, &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key})
}

func (p *pki) writeKubeconfig(path, context string, auth *clientcmdapi.AuthInfo) error {
	c := clientcmdapi.NewConfig()
	c.Clusters[context] = &clientcmdapi.Cluster{Server: p.server, CertificateAuthorityData: p.ca.Cert}
	c.AuthInfos[context] = auth
	c.Contexts[context] = &clientcmdapi.Context{Cluster: context, AuthInfo: context}
	c.CurrentContext = context
	if err := clientcmd.WriteToFile(*c, path); err != nil { // 0600
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}
