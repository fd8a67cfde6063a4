package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
)

// Address ranges of the cluster. Nothing routes them: containers do not run here.
const (
	serviceCIDR = "10.96.0.0/16"
	podCIDR     = "10.128.0.0/9" // of which every node gets 256, thousands of them, too
)

// Component is the name of the child process, and of its log.
const Component = "control-plane"

// Options say what cluster to make.
type Options struct {
	// Name is the sandbox's; the admin context is called vsphere-sandbox-<Name>.
	Name string
	// Dir is an existing directory for its owner only, kept for the life of the cluster.
	Dir   string
	Speed pace.Speed
	// Port of the API server; 0 takes a free one.
	Port  int
	Audit bool
}

var _ cluster.Cluster = (*Cluster)(nil)

// Cluster is the parent's side of an embedded control plane. Make one with [New]; its methods may be called from any
// goroutine.
type Cluster struct {
	opts     Options
	pki      *pki
	listener *net.TCPListener
	file     *os.File // the listener's descriptor, for the child
	bell     bell     // rung when the child is to look at its tuning
	config   string   // path of the child's configuration
	rest     *rest.Config
	client   kubernetes.Interface
}

// New takes the API server's address, makes its PKI and the admin's kubeconfig. Nothing runs yet; [Cluster.Close]
// gives back what was taken.
func New(opts Options) (_ *Cluster, err error) {
	c := &Cluster{opts: opts, config: filepath.Join(opts.Dir, "control-plane.json")}
	host := net.IPv4(127, 0, 0, 1)
	if c.listener, err = net.ListenTCP("tcp", &net.TCPAddr{IP: host, Port: opts.Port}); err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	// The child gets the socket itself: no other process can take the port while the control plane restarts.
	if c.file, err = c.listener.File(); err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	if c.bell, err = newBell(); err != nil {
		return nil, err
	}
	pkiDir := filepath.Join(opts.Dir, "pki")
	if err := os.MkdirAll(pkiDir, 0o700); err != nil {
		return nil, err
	}
	_, services, err := net.ParseCIDR(serviceCIDR)
	if err != nil {
		return nil, err
	}
	first := services.IP.To4()
	first[3]++ // the kubernetes Service takes the first address
	if c.pki, err = newPKI(pkiDir, "https://"+c.listener.Addr().String(), host, first); err != nil {
		return nil, err
	}
	admin := cert.Leaf{CommonName: "vsphere-sandbox-admin", Organizations: []string{"system:masters"}}
	if err := c.pki.kubeconfig(c.Kubeconfig(), c.Server(), c.Context(), admin); err != nil {
		return nil, err
	}
	if c.rest, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig()); err != nil {
		return nil, err
	}
	// The sandbox sets up a cluster in one go; the client's own rate limit would only make it wait.
	c.rest.QPS, c.rest.Burst = 200, 400
	c.rest.UserAgent = "vsphere-sandbox"
	if c.client, err = kubernetes.NewForConfig(c.rest); err != nil {
		return nil, err
	}
	return c, c.writeConfig()
}

func (c *Cluster) writeConfig() error {
	addr := c.listener.Addr().(*net.TCPAddr)
	cfg := Config{
		EtcdDir:     filepath.Join(c.opts.Dir, "etcd"),
		PKI:         c.pki.dir,
		Host:        addr.IP.String(),
		Port:        addr.Port,
		ListenerFD:  3, // the first of child.Spec.Files
		Speed:       c.opts.Speed,
		ServiceCIDR: serviceCIDR,
		PodCIDR:     podCIDR,
		Tuning:      c.tuning(),
		BellFD:      4, // the second
	}
	if c.opts.Audit {
		cfg.AuditLog = filepath.Join(c.opts.Dir, "logs", "audit.log")
		if err := os.WriteFile(filepath.Join(c.pki.dir, "audit-policy.yaml"), []byte(auditPolicy), 0o600); err != nil {
			return err
		}
	}
	return child.WriteConfig(c.config, cfg)
}

// auditPolicy records who asked for what, never bodies: those hold Secrets.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// Spec describes the child process; command is what this binary calls its control plane ("control-plane").
func (c *Cluster) Spec(command ...string) child.Spec {
	return child.Spec{
		Name:  Component,
		Args:  append(command, "--config="+c.config),
		Files: []*os.File{c.file, c.bell.near},
	}
}

// Context is the name of the admin's context in [Cluster.Kubeconfig].
func (c *Cluster) Context() string { return "vsphere-sandbox-" + c.opts.Name }

// Kubeconfig is the path of the admin's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.opts.Dir, "kubeconfig") }

// Server is the API server's URL.
func (c *Cluster) Server() string { return c.pki.server }

// Client speaks as the admin.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// WaitReady returns when the API server is ready and the default namespace has its ServiceAccount, which proves that the
// controller manager works too. It calls say whenever what it waits for changes.
func (c *Cluster) WaitReady(ctx context.Context, say func(string)) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		waiting := c.probe(ctx)
		if waiting == "" {
			return nil
		}
		if waiting != last {
			say(waiting)
			last = waiting
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("control plane: waiting for %s: %w", last, context.Cause(ctx))
		}
	}
}

// Close gives the address back. Call it after the child has ended.
func (c *Cluster) Close() error {
	errs := []error{c.bell.close()}
	if c.file != nil {
		errs = append(errs, c.file.Close())
	}
	return errors.Join(append(errs, c.listener.Close())...)
}

// Config is the configuration of the control-plane child. It is passed as a file; it has paths and no secrets.
type Config struct {
	// EtcdDir is where etcd keeps its data; a control plane started again with the same one continues.
	EtcdDir string `json:"etcdDir"`
	// PKI is the directory of keys, certificates and kubeconfigs.
	PKI string `json:"pki"`
	// Host and Port are what clients connect to. The listening socket itself is inherited as file descriptor
	// ListenerFD, so that the address stays taken while the control plane restarts.
	Host       string     `json:"host"`
	Port       int        `json:"port"`
	ListenerFD int        `json:"listenerFD"`
	Speed      pace.Speed `json:"speed"`
	// ServiceCIDR and PodCIDR are address ranges that nothing routes.
	ServiceCIDR string `json:"serviceCIDR"`
	PodCIDR     string `json:"podCIDR"`
	// Tuning is the file with what may change while the control plane runs; see [Tuning]. A byte on the pipe BellFD announces
	// that it was written.
	Tuning string `json:"tuning"`
	BellFD int    `json:"bellFD"`
	// AuditLog is the file of the API server's audit log; empty means none is kept.
	AuditLog string `json:"auditLog,omitempty"`
}

// ReadConfig reads the file that the parent wrote.
func ReadConfig(path string) (Config, error) { return child.ReadConfig[Config](path) }

// bell is a pipe that outlives the child's processes: a byte in it says that there is news.
type bell struct {
	near *os.File // the child's end
	far  *os.File
}

func newBell() (b bell, err error) {
	b.near, b.far, err = os.Pipe()
	return b, err
}

// ring returns at once. A full pipe needs no further byte. It tries once, without a deadline: on a busy host even a generous
// deadline may pass before the first try.
func (b bell) ring() error {
	conn, err := b.far.SyscallConn()
	if err != nil {
		return err
	}
	var wrote error
	if err := conn.Write(func(fd uintptr) bool {
		_, wrote = unix.Write(int(fd), []byte{1}) // the end that stays here does not block
		return true
	}); err != nil {
		return err
	}
	if errors.Is(wrote, unix.EAGAIN) {
		return nil
	}
	return wrote
}

func (b bell) close() error {
	if b.near == nil {
		return nil
	}
	return errors.Join(b.near.Close(), b.far.Close())
}

// probe names what the control plane still lacks; "" means nothing.
func (c *Cluster) probe(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var status int
	body, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Param("verbose", "").Do(ctx).StatusCode(&status).Raw()
	switch {
	case status == 0:
		return "the API server to answer"
	case err != nil:
		return "the API server: " + unready(string(body))
	}
	_, err = c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "the controller manager to make the default ServiceAccount"
	case err != nil:
		return "the API server to serve ServiceAccounts"
	}
	return ""
}

// unready picks the failing checks out of the verbose answer of /readyz ("[-]poststarthook/x failed: reason withheld").
func unready(verbose string) string {
	var failing []string
	for line := range strings.Lines(verbose) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(check, " ")
			failing = append(failing, name)
		}
	}
	if len(failing) == 0 {
		return "starting"
	}
	return strings.Join(failing, ", ")
}
