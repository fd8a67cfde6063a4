package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// serverSettings configures the kubelet's API as kubeadm does. The kubelet does not start it itself: it would listen on
// [contract.KubeletPort] of the host, where every VM's kubelet would listen.
func serverSettings(c *kubeletconfig.KubeletConfiguration, cfg contract.NodeServer) {
	c.EnableServer = false
	c.Port = contract.KubeletPort // what the Node names
	c.ReadOnlyPort = 0
	c.HealthzPort = 0
	c.Authentication.Anonymous.Enabled = false
	c.Authentication.X509.ClientCAFile = cfg.ClientCA
	c.Authentication.Webhook.Enabled = true
	c.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeWebhook
	c.EnableDebuggingHandlers = true // logs, exec, attach, port-forward
	// These would show the host: its /var/log, and the process.
	c.EnableSystemLogHandler, c.EnableSystemLogQuery = false, false
	c.EnableProfilingHandler, c.EnableContentionProfiling, c.EnableDebugFlagsHandler = false, false, false
}

// apiServer serves the API of a kubelet on a unix socket, as server.ListenAndServeKubeletServer does on a port.
type apiServer struct {
	listener *net.UnixListener
	http     http.Server
}

// listenAPI listens before the kubelet exists: the Node must not be Ready without its server.
func listenAPI(cfg contract.NodeServer) (*apiServer, error) {
	certificate := &certificate{path: cfg.Certificate}
	if _, err := certificate.get(nil); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(cfg.Socket), 0o700); err != nil {
		return nil, err
	}
	// It is left when the VM lost its power.
	if err := os.Remove(cfg.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: cfg.Socket})
	if err == nil {
		err = os.Chmod(cfg.Socket, 0o600)
	}
	if err != nil {
		return nil, err
	}
	s := &apiServer{listener: l, http: http.Server{
		IdleTimeout: 90 * time.Second, ReadTimeout: 4 * time.Hour, WriteTimeout: 4 * time.Hour, MaxHeaderBytes: 1 << 20,
		ReadHeaderTimeout: time.Minute,
	}}
	s.http.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.get, ClientAuth: tls.RequestClientCert}
	return s, nil
}

// certificate is a file that is read again when it was replaced.
type certificate struct {
	path string

	mu   sync.Mutex
	read time.Time
	pair *tls.Certificate
}

// get implements tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.path)
	if err == nil && (c.pair == nil || !info.ModTime().Equal(c.read)) {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.path, c.path); err == nil {
			c.pair, c.read = &pair, info.ModTime()
		}
	}
	if err != nil && c.pair == nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	return c.pair, nil
}

// serve serves the API of k until ctx ends.
func (s *apiServer) serve(ctx context.Context, k *kubelet.Kubelet, name string, client kubernetes.Interface, c *kubeletconfig.KubeletConfiguration) error {
	// The clients' authority stays what it is. What is left out would watch its file, and a user has few inotify instances.
	auth, _, err := kubeletapp.BuildAuth(types.NodeName(name), client, *c)
	if err != nil {
		return err
	}
	handler := newServer(ctx, k, auth, c)
	s.http.Handler = &handler
	defer context.AfterFunc(ctx, func() { _ = s.http.Close() })()
	if err := s.http.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
