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
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	pkgkubelet "k8s.io/kubernetes/pkg/kubelet"
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
	pair, err := tls.LoadX509KeyPair(cfg.Cert, cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
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
	s.http.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	return s, nil
}

// serve serves the API of k until ctx ends.
func (s *apiServer) serve(ctx context.Context, k *pkgkubelet.Kubelet, name string, client kubernetes.Interface, c *kubeletconfig.KubeletConfiguration) error {
	auth, runAuth, err := kubeletapp.BuildAuth(types.NodeName(name), client, *c)
	if err != nil {
		return err
	}
	runAuth(ctx.Done())
	handler := newServer(ctx, k, auth, c)
	s.http.Handler = &handler
	defer context.AfterFunc(ctx, func() { _ = s.http.Close() })()
	if err := s.http.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
