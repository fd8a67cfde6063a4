package embedded

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/objects"
)

// SupervisorAdmin is the user of the token of [SupervisorAPI].
const SupervisorAdmin = "vsphere-sandbox-admin"

// SupervisorAPI is the parent's side of a Supervisor's API server, which the control plane serves beside the cluster's. Get it from
// [Cluster.Supervisor].
type SupervisorAPI struct {
	dir      string
	listener *net.TCPListener
	ca       *cert.CA
	token    string
}

// newSupervisor listens and creates the PKI in dir. Its authority, its key and its token stay valid over a restore.
func newSupervisor(dir string) (_ *SupervisorAPI, err error) {
	host := net.IPv4(127, 0, 0, 1)
	s := &SupervisorAPI{dir: dir}
	if s.listener, err = net.ListenTCP("tcp", &net.TCPAddr{IP: host}); err != nil {
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.listener.Close())
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if s.ca, err = readAuthority(dir, "ca"); errors.Is(err, fs.ErrNotExist) {
		s.ca, err = cert.NewCA("vsphere-sandbox supervisor")
	}
	if err != nil {
		return nil, err
	}
	p := &pki{dir: dir, ca: s.ca}
	server, err := s.ca.Sign(cert.Leaf{CommonName: "kube-apiserver", DNSNames: []string{"localhost"}, IPs: []net.IP{host}})
	if err != nil {
		return nil, err
	}
	s.token = rand.Text()
	account := fmt.Sprintf("%s,%s,%[2]s,system:masters\n", s.token, SupervisorAdmin)
	return s, errors.Join(p.write("ca", &s.ca.Pair), p.write("apiserver", server), p.serviceAccountKey(),
		os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(account), 0o600))
}

// contract returns what the child is configured with. Its socket is inherited as fd.
func (s *SupervisorAPI) contract(fd int) *contract.SupervisorAPI {
	addr := s.listener.Addr().(*net.TCPAddr)
	return &contract.SupervisorAPI{PKI: s.dir, Host: addr.IP.String(), Port: addr.Port, ListenerFD: fd}
}

// begin writes the file with the objects that a new API server begins with; "" for none.
func (s *SupervisorAPI) begin(definitions map[string][]byte) (path string, err error) {
	if len(definitions) == 0 {
		return "", nil
	}
	var lines bytes.Buffer
	if err := objects.WriteDefinitions(&lines, definitions); err != nil {
		return "", err
	}
	path = filepath.Join(s.dir, "definitions.jsonl")
	return path, os.WriteFile(path, lines.Bytes(), 0o600)
}

// CA returns the authority that signs the Supervisor's servers.
func (s *SupervisorAPI) CA() *cert.CA { return s.ca }

// Token returns the administrator's, a secret.
func (s *SupervisorAPI) Token() string { return s.token }

// REST returns the configuration of an administrator's client that connects to the API server itself. Its requests outlive the
// control plane.
func (s *SupervisorAPI) REST() *rest.Config {
	c := s.direct()
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return steady{next, s.WaitReady} })
	return c
}

func (s *SupervisorAPI) direct() *rest.Config {
	return &rest.Config{
		Host: "https://" + s.listener.Addr().String(), BearerToken: s.token, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.Cert},
		UserAgent: "vsphere-sandbox", QPS: 200, Burst: 400,
	}
}

// WaitReady returns when the API server is ready, which is after the cluster's.
func (s *SupervisorAPI) WaitReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(s.direct())
	if err != nil {
		return err
	}
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("supervisor: waiting for its API server: %w", context.Cause(ctx))
		}
	}
	return nil
}

// Kubeconfig writes a kubeconfig of the administrator, for its owner only, to path. Its client connects to server, a URL, and begins in
// the namespace.
func (s *SupervisorAPI) Kubeconfig(path, server, context, namespace string) error {
	c := clientcmdapi.NewConfig()
	c.Clusters[context] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: s.ca.Cert}
	c.AuthInfos[context] = &clientcmdapi.AuthInfo{Token: s.token}
	c.Contexts[context] = &clientcmdapi.Context{Cluster: context, AuthInfo: context, Namespace: namespace}
	c.CurrentContext = context
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		return fmt.Errorf("kubeconfig of the Supervisor: %w", err)
	}
	return nil
}
