package kubelet

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// The socket is the owner's only, replaces the one of a VM that lost its power, and has the certificate that is in the file.
func TestListenAPI(t *testing.T) {
	dir, err := os.MkdirTemp("", "api") // a test's own has a path that is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cfg := contract.NodeServer{Socket: filepath.Join(dir, "root", "kubelet.sock"), Certificate: filepath.Join(dir, "kubelet.pem")}
	if _, err := listenAPI(cfg); err == nil {
		t.Error("it listens without a certificate")
	}
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	write := func(host string, at time.Time) {
		t.Helper()
		pair, err := ca.Sign(cert.Leaf{CommonName: "system:node:" + host, DNSNames: []string{host}})
		if err == nil {
			err = os.WriteFile(cfg.Certificate, slices.Concat(pair.Cert, pair.Key), 0o600)
		}
		if err == nil {
			err = os.Chtimes(cfg.Certificate, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	write("worker-1", start)
	for range 2 {
		s, err := listenAPI(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.listener.SetUnlinkOnClose(false) // as when the VM loses its power
		defer s.listener.Close()
		if info, err := os.Stat(cfg.Socket); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if info, err := os.Stat(filepath.Dir(cfg.Socket)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		handed := func() *x509.Certificate {
			t.Helper()
			pair, err := s.http.TLSConfig.GetCertificate(&tls.ClientHelloInfo{})
			if err != nil {
				t.Fatal(err)
			}
			return pair.Leaf
		}
		if err := handed().VerifyHostname("worker-1"); err != nil {
			t.Error(err)
		}
		write("worker-2", start.Add(time.Second))
		if err := handed().VerifyHostname("worker-2"); err != nil {
			t.Error(err)
		}
		// What cannot be read does not replace what was.
		if err := os.WriteFile(cfg.Certificate, []byte("half a file"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := handed().VerifyHostname("worker-2"); err != nil {
			t.Error(err)
		}
		write("worker-1", start)
	}
}
