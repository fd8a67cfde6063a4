package embedded

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// newCluster returns a cluster in a new directory; edit may change its options first.
func newCluster(t *testing.T, edit func(*Options)) *Cluster {
	t.Helper()
	opts := Options{Name: "test", Dir: t.TempDir(), Speed: 10}
	if edit != nil {
		edit(&opts)
	}
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // where the test has closed it, it complains
	return c
}

func TestFilesAreForTheirOwner(t *testing.T) {
	c := newCluster(t, func(o *Options) { o.Audit = true })
	if err := c.Via(c.Addr()).Node(filepath.Join(c.opts.Dir, "node"), "worker-1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Via(c.Addr()).Token(filepath.Join(c.opts.Dir, "token-client"), "default", "/t"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.NodeServer(c.opts.Dir, "worker-1", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Tune(contract.Tuning{EtcdDelay: time.Second}); err != nil {
		t.Fatal(err)
	}
	var files []string
	err := filepath.WalkDir(c.opts.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == c.opts.Dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		} else {
			name, _ := filepath.Rel(c.opts.Dir, path)
			files = append(files, name)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", path, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"control-plane-tuning.json", "control-plane.json", "kubeconfig", "node", "pki/audit-policy.yaml"}
	for _, pair := range []string{"apiserver", "apiserver-kubelet-client", "ca", "etcd", "etcd-ca", "etcd-client", "front-proxy-ca", "front-proxy-client", "metrics-server"} {
		want = append(want, "pki/"+pair+".crt", "pki/"+pair+".key")
	}
	want = append(want, "kubelet.pem", "pki/controller-manager.kubeconfig", "pki/metrics-server.kubeconfig", "pki/sa.key", "pki/sa.pub", "pki/scheduler.kubeconfig", "token-client")
	slices.Sort(want)
	slices.Sort(files)
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestConfigRoundTrip(t *testing.T) {
	for name, audit := range map[string]bool{"plain": false, "audited": true} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, func(o *Options) {
				o.Speed, o.Audit, o.Knobs.Scheduler, o.Egress, o.Metrics = 2.5, audit, []string{"v=2"}, "/e", "/m"
			})
			spec := c.Spec()
			if len(spec.Args) != 2 || spec.Name != "control-plane" || len(spec.Files) != 4 {
				t.Fatalf("%+v", spec)
			}
			path, _ := strings.CutPrefix(spec.Args[1], "--config=")
			got, err := contract.ReadControlPlane(path)
			if err != nil {
				t.Fatal(err)
			}
			want := contract.ControlPlane{
				EtcdDir: filepath.Join(c.opts.Dir, "etcd"), PKI: filepath.Join(c.opts.Dir, "pki"), Host: "127.0.0.1", Port: c.listener.Addr().(*net.TCPAddr).Port,
				ListenerFD: 3, Speed: 2.5, ServiceCIDR: "10.96.0.0/16", PodCIDR: "10.128.0.0/9",
				Tuning: filepath.Join(c.opts.Dir, "control-plane-tuning.json"), NotifyFD: 6,
				ControllerManagerFD: 4, SchedulerFD: 5, EtcdEndpoint: filepath.Join(c.opts.Dir, "etcd.endpoint"), Egress: "/e", Metrics: "/m",
				Knobs: contract.Knobs{Scheduler: []string{"v=2"}},
			}
			if audit {
				want.AuditLog = filepath.Join(c.opts.Dir, "logs", "audit.log")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The child must get the very socket that clients connect to.
func TestSpecHandsTheSocketOver(t *testing.T) {
	c := newCluster(t, nil)
	files := c.Spec().Files
	l, err := net.FileListener(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if c.Server() != "https://"+l.Addr().String() {
		t.Errorf("the child listens on %s, clients go to %s", l.Addr(), c.Server())
	}
	if diff := cmp.Diff(child.Spec{Name: Component, Args: []string{"control-plane", "--config=" + c.config}, Files: files}, c.Spec(),
		cmp.Comparer(func(a, b *os.File) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPort(t *testing.T) {
	c := newCluster(t, nil)
	port := c.listener.Addr().(*net.TCPAddr).Port

	dir := t.TempDir()
	if _, err := New(Options{Name: "second", Dir: dir, Port: port}); !errors.Is(err, syscall.EADDRINUSE) || !strings.HasPrefix(err.Error(), "kube-apiserver: ") {
		t.Errorf("a port in use: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again := newCluster(t, func(o *Options) { o.Port = port })
	if got := again.listener.Addr().(*net.TCPAddr).Port; got != port {
		t.Errorf("got port %d, want %d", got, port)
	}
}

// A cluster that cannot be made gives its port back.
func TestFailedNewClosesThePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	if _, err := New(Options{Dir: filepath.Join(t.TempDir(), "missing", "\x00"), Port: port}); err == nil {
		t.Fatal("made in a directory that cannot be")
	}
	if l, err = net.Listen("tcp", l.Addr().String()); err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	l.Close()
}

func TestKubeconfigs(t *testing.T) {
	c := newCluster(t, nil)
	path := func(name string) string { return filepath.Join(c.opts.Dir, name) }
	if err := c.Via(c.Addr()).Node(path("node"), "worker-1"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		file, context, cn string
		orgs              []string
	}{
		{c.Kubeconfig(), "vsphere-sandbox-test", "vsphere-sandbox-admin", []string{"system:masters"}},
		{path("node"), "default", "system:node:worker-1", []string{"system:nodes"}},
		{path("pki/controller-manager.kubeconfig"), "controller-manager", "system:kube-controller-manager", nil},
		{path("pki/scheduler.kubeconfig"), "scheduler", "system:kube-scheduler", nil},
	} {
		file, err := clientcmd.LoadFromFile(tc.file)
		if err != nil {
			t.Fatal(err)
		}
		if file.CurrentContext != tc.context || len(file.Contexts) != 1 {
			t.Errorf("%s: context %q of %v", tc.file, file.CurrentContext, file.Contexts)
		}
		rest, err := clientcmd.BuildConfigFromFlags("", tc.file)
		if err != nil {
			t.Fatal(err)
		}
		if rest.Host != c.Server() || !slices.Equal(rest.CAData, c.pki.ca.Cert) || rest.BearerToken != "" {
			t.Errorf("%s: %+v", tc.file, rest)
		}
		client := parse(t, rest.CertData)
		if client.Subject.CommonName != tc.cn || !slices.Equal(client.Subject.Organization, tc.orgs) {
			t.Errorf("%s: is %s of %q", tc.file, client.Subject.CommonName, client.Subject.Organization)
		}
		verify(t, client, c.pki.ca.Cert, x509.ExtKeyUsageClientAuth, "")
	}
	if c.Context() != "vsphere-sandbox-test" {
		t.Errorf("context %s", c.Context())
	}
}

func TestTokenIsReadFromTheFileAtEachUse(t *testing.T) {
	c := newCluster(t, nil)
	path, token := filepath.Join(c.opts.Dir, "ccm"), filepath.Join(c.opts.Dir, "token")
	if err := c.Via(c.Addr()).Token(path, "default", token); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil { // it may come later than the kubeconfig
		t.Fatal(err)
	}
	rest, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if rest.BearerTokenFile != token || rest.Host != c.Server() || len(rest.CertData)+len(rest.KeyData) > 0 {
		t.Errorf("%+v", rest)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("the token is in the kubeconfig: %v", err)
	}
}

func TestPKI(t *testing.T) {
	c := newCluster(t, nil)
	pki := func(name string) []byte { return read(t, filepath.Join(c.pki.dir, name)) }
	const server, client = x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for _, tc := range []struct {
		name, ca, cn string
		orgs         []string
		usages       []x509.ExtKeyUsage
		hosts        []string
	}{
		{"apiserver", "ca", "kube-apiserver", nil, []x509.ExtKeyUsage{server}, []string{"127.0.0.1", "10.96.0.1", "localhost", "kubernetes.default.svc"}},
		{"apiserver-kubelet-client", "ca", "kube-apiserver-kubelet-client", nil, []x509.ExtKeyUsage{client}, nil},
		{"etcd", "etcd-ca", "etcd", nil, []x509.ExtKeyUsage{server, client}, []string{"127.0.0.1"}},
		{"etcd-client", "etcd-ca", "kube-apiserver-etcd-client", nil, []x509.ExtKeyUsage{client}, nil},
		{"front-proxy-client", "front-proxy-ca", "front-proxy-client", nil, []x509.ExtKeyUsage{client}, nil},
		{"metrics-server", "ca", "metrics-server", nil, []x509.ExtKeyUsage{server}, []string{"metrics-server.kube-system.svc"}},
	} {
		leaf := parse(t, pki(tc.name+".crt"))
		if leaf.Subject.CommonName != tc.cn || !slices.Equal(leaf.Subject.Organization, tc.orgs) || leaf.IsCA {
			t.Errorf("%s: is %s of %q, CA %t", tc.name, leaf.Subject.CommonName, leaf.Subject.Organization, leaf.IsCA)
		}
		slices.Sort(leaf.ExtKeyUsage)
		if diff := cmp.Diff(tc.usages, leaf.ExtKeyUsage); diff != "" {
			t.Errorf("%s: usages (-want +got):\n%s", tc.name, diff)
		}
		for _, usage := range tc.usages {
			verify(t, leaf, pki(tc.ca+".crt"), usage, "")
		}
		for _, host := range tc.hosts {
			verify(t, leaf, pki(tc.ca+".crt"), server, host)
		}
	}
	// Each authority accepts only its own clients.
	for _, ca := range []string{"ca", "etcd-ca"} {
		opts := x509.VerifyOptions{Roots: pool(pki(ca + ".crt")), KeyUsages: []x509.ExtKeyUsage{client}}
		if _, err := parse(t, pki("front-proxy-client.crt")).Verify(opts); err == nil {
			t.Errorf("%s vouches for the front proxy's client", ca)
		}
	}

	private, _ := pem.Decode(pki("sa.key"))
	key, err := x509.ParseECPrivateKey(private.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	public, _ := pem.Decode(pki("sa.pub"))
	if got, err := x509.ParsePKIXPublicKey(public.Bytes); err != nil || !key.PublicKey.Equal(got) {
		t.Errorf("the keys of ServiceAccounts are no pair: %v", err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no PEM: %q", text)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func pool(ca []byte) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(ca)
	return p
}

func verify(t *testing.T, leaf *x509.Certificate, ca []byte, usage x509.ExtKeyUsage, host string) {
	t.Helper()
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool(ca), KeyUsages: []x509.ExtKeyUsage{usage}, DNSName: host}); err != nil {
		t.Errorf("%s: %v", leaf.Subject.CommonName, err)
	}
}

// A kubelet's serving certificate stays until an address is new, and is for no other host.
func TestNodeServer(t *testing.T) {
	c := newCluster(t, nil)
	server := func(addresses ...string) (*x509.Certificate, string) {
		t.Helper()
		s, err := c.NodeServer(c.opts.Dir, "worker-1", addresses)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(s.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		block, rest := pem.Decode(content)
		if key, _ := pem.Decode(rest); key == nil {
			t.Fatal("no key")
		}
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(c.Authority())
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "worker-1", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
			t.Error(err)
		}
		return leaf, string(content)
	}
	_, first := server("198.18.0.1", "fd00::1", "no address")
	leaf, again := server("198.18.0.1")
	if first != again {
		t.Error("it changed without need")
	}
	if leaf.VerifyHostname("fd00::1") != nil || leaf.VerifyHostname("worker-2") == nil {
		t.Errorf("for %v, %v", leaf.DNSNames, leaf.IPAddresses)
	}
	if leaf, _ = server("198.18.0.2"); leaf.VerifyHostname("198.18.0.2") != nil || leaf.VerifyHostname("198.18.0.1") == nil {
		t.Errorf("for %v", leaf.IPAddresses)
	}
}
