// Package cluster defines the interface to a Kubernetes cluster that all grounds share. Package embedded is a control
// plane in a process of the sandbox, kind one in containers, existing one of the user; deploy runs a cloud controller
// manager and a CSI driver as pods of any of them.
//
// Floor 2: it imports nothing of this module.
package cluster

import (
	"fmt"
	"net"
	"net/url"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// NoVM labels a node of the cluster that is no VM of a vCenter: a CSI driver has nothing to do there.
const NoVM = "sandbox.vsphere/no-vm"

// Cluster is a cluster with an administrator's permissions. Its methods may be called from any goroutine once the API
// server runs.
type Cluster interface {
	// Client is a client of the administrator, REST a copy of its configuration.
	Client() kubernetes.Interface
	REST() *rest.Config
	// Server is the API server's URL as this host reaches it, Addr its host:port.
	Server() string
	Addr() string
	// Kubeconfig is the path of the administrator's kubeconfig, a file for its owner only; Context the context in it.
	Kubeconfig() string
	Context() string
	// Token writes a kubeconfig to path, with the context "default". Its client connects to the API server at addr, which
	// forwards connections there, and reads its bearer token from tokenFile at each use, as a pod does.
	Token(path, addr, tokenFile string) error
}

// SecurePorts is a [Cluster] whose components serve metrics and health to this host.
type SecurePorts interface {
	// ControllerManager and Scheduler return the URLs of kube-controller-manager and kube-scheduler.
	ControllerManager() string
	Scheduler() string
}

// WriteToken is [Cluster.Token] for an API server with the connection c.
func WriteToken(c *rest.Config, path, addr, tokenFile string) error {
	server, err := url.Parse(c.Host)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	to := &clientcmdapi.Cluster{Server: "https://" + addr, CertificateAuthorityData: c.CAData, TLSServerName: c.ServerName}
	if host, _, err := net.SplitHostPort(addr); to.TLSServerName == "" && (err != nil || host != server.Hostname()) {
		to.TLSServerName = server.Hostname() // the certificate is for where the connections end
	}
	if len(to.CertificateAuthorityData) == 0 {
		to.CertificateAuthority = c.CAFile
	}
	if c.Insecure { // as in the user's kubeconfig; then there is no authority
		to.InsecureSkipTLSVerify, to.TLSServerName = true, ""
	}
	out := clientcmdapi.NewConfig()
	out.Clusters["default"], out.AuthInfos["default"] = to, &clientcmdapi.AuthInfo{TokenFile: tokenFile}
	out.Contexts["default"] = &clientcmdapi.Context{Cluster: "default", AuthInfo: "default"}
	out.CurrentContext = "default"
	if err := clientcmd.WriteToFile(*out, path); err != nil { // 0600
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}
