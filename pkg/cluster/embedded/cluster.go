package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
)

// Address ranges of the cluster. They are not routed: no containers run here.
const (
	serviceCIDR = "10.96.0.0/16"
	// PodCIDR is the network of all pods: 256 addresses for each of thousands of nodes.
	PodCIDR = "10.128.0.0/9"
)

// Component is the name of the child process, and of its log.
const Component = "control-plane"

// Options configure a cluster.
type Options struct {
	// Name is the sandbox's name; the admin context is called vsphere-sandbox-<Name>.
	Name string
	// Dir is an existing directory for its owner only, kept for the life of the cluster.
	Dir   string
	Speed pace.Speed
	// Port is the API server's; 0 for a free one.
	Port  int
	Audit bool
	// Objects is the file of [Cluster.SaveObjects] that a new cluster begins with; empty for none.
	Objects string
	// Definitions are the resource definitions that a Supervisor's API server begins with, by their names, unless Objects has them.
	Definitions map[string][]byte
	// Egress is the unix socket of the proxy to nodes, package egress's; Metrics the one that the resource metrics API is served on.
	Egress, Metrics string
	// Supervisor has the control plane serve a Supervisor's API, too.
	Supervisor bool
	// Knobs are the user's changes of the components.
	Knobs contract.Knobs
}

var _ cluster.Cluster = (*Cluster)(nil)

// Cluster is the parent's side of an embedded control plane. Create one with [New]. Its methods may be called from any
// goroutine.
type Cluster struct {
	opts     Options
	pki      *pki
	listener *net.TCPListener
	secure   [2]*net.TCPListener // of controller manager and scheduler
	files    []*os.File          // descriptors of the listeners and of the notifier, for the child
	notifier notifier            // notifies the child of a changed tuning
	config   string              // path of the child's configuration
	super    *SupervisorAPI      // nil without one
	rest     *rest.Config
	client   kubernetes.Interface
	prober   kubernetes.Interface // for WaitReady, which client's requests wait for
}

// New listens on the API server's address, and creates its PKI and the admin's kubeconfig. It starts no process.
// [Cluster.Close] closes the listener.
func New(opts Options) (_ *Cluster, err error) {
	c := &Cluster{opts: opts, config: filepath.Join(opts.Dir, "control-plane.json")}
	host := net.IPv4(127, 0, 0, 1)
	if opts.Port == 0 {
		c.listener, err = loopback.ListenKept(host) // "start" needs it again
	} else {
		c.listener, err = net.ListenTCP("tcp", &net.TCPAddr{IP: host, Port: opts.Port})
	}
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	for i := range c.secure {
		if c.secure[i], err = net.ListenTCP("tcp", &net.TCPAddr{IP: host}); err != nil {
			return nil, err
		}
	}
	// The child gets the sockets themselves: no other process can take the ports while the control plane restarts.
	for _, l := range []*net.TCPListener{c.listener, c.secure[0], c.secure[1]} {
		file, err := l.File()
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, file)
	}
	if c.notifier, err = newNotifier(); err != nil {
		return nil, err
	}
	c.files = append(c.files, c.notifier.near)
	if opts.Supervisor {
		if c.super, err = newSupervisor(filepath.Join(opts.Dir, "supervisor", "pki")); err != nil {
			return nil, err
		}
		file, err := c.super.listener.File()
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, file)
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
	first[3]++ // the kubernetes Service has the first address
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
	// The sandbox sets up a cluster in one go; the default rate limit would only delay it.
	c.rest.QPS, c.rest.Burst = 200, 400
	c.rest.UserAgent = "vsphere-sandbox"
	if c.prober, err = kubernetes.NewForConfig(c.rest); err != nil {
		return nil, err
	}
	c.rest.Wrap(func(next http.RoundTripper) http.RoundTripper { return steady{next, c.ready} })
	if c.client, err = kubernetes.NewForConfig(c.rest); err != nil {
		return nil, err
	}
	return c, c.writeConfig()
}

func (c *Cluster) writeConfig() error {
	addr := c.listener.Addr().(*net.TCPAddr)
	cfg := contract.ControlPlane{
		EtcdDir:     filepath.Join(c.opts.Dir, "etcd"),
		Objects:     c.opts.Objects,
		PKI:         c.pki.dir,
		Host:        addr.IP.String(),
		Port:        addr.Port,
		ListenerFD:  3, // the first of child.Spec.Files
		Speed:       c.opts.Speed,
		ServiceCIDR: serviceCIDR,
		PodCIDR:     PodCIDR,
		Tuning:      c.tuning(),
		NotifyFD:    6,

		ControllerManagerFD: 4,
		SchedulerFD:         5,
		EtcdEndpoint:        EtcdEndpoint(c.opts.Dir),
		Egress:              c.opts.Egress,
		Metrics:             c.opts.Metrics,
		Knobs:               c.opts.Knobs,
	}
	if c.super != nil {
		cfg.Supervisor = c.super.contract(7)
		if cfg.Objects == "" {
			var err error
			if cfg.Objects, err = c.super.begin(c.opts.Definitions); err != nil {
				return err
			}
		}
	}
	if c.opts.Audit || c.opts.Knobs.AuditPolicy != "" {
		cfg.AuditLog = filepath.Join(c.opts.Dir, "logs", "audit.log")
		if err := os.WriteFile(filepath.Join(c.pki.dir, "audit-policy.yaml"), []byte(auditPolicy), 0o600); err != nil {
			return err
		}
	}
	return cfg.Write(c.config)
}

// auditPolicy logs metadata only, since bodies may have Secrets.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// Spec describes the child process. The caller sets its Path, that of the Kubernetes program.
func (c *Cluster) Spec() child.Spec {
	return child.Spec{
		Name:  Component,
		Args:  []string{contract.ControlPlaneCommand, "--config=" + c.config},
		Files: slices.Clone(c.files),
	}
}

// Supervisor returns the Supervisor's API server; nil without one.
func (c *Cluster) Supervisor() *SupervisorAPI { return c.super }

// Context returns the name of the admin's context in [Cluster.Kubeconfig].
func (c *Cluster) Context() string { return "vsphere-sandbox-" + c.opts.Name }

// Kubeconfig returns the path of the admin's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.opts.Dir, "kubeconfig") }

// Server returns the API server's URL.
func (c *Cluster) Server() string { return c.pki.server }

// Client returns a client of the admin.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// ControllerManager and Scheduler return the URLs of the components' secure ports: metrics and health.
func (c *Cluster) ControllerManager() string { return "https://" + c.secure[0].Addr().String() }

// Scheduler is like [Cluster.ControllerManager].
func (c *Cluster) Scheduler() string { return "https://" + c.secure[1].Addr().String() }

// EtcdEndpoint is the file that has etcd's URL once that serves, in the directory of a sandbox.
func EtcdEndpoint(dir string) string { return filepath.Join(dir, "etcd.endpoint") }

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

func (c *Cluster) ready(ctx context.Context) error { return c.WaitReady(ctx, func(string) {}) }

// Close closes the listener. Call it after the child has ended.
func (c *Cluster) Close() error {
	errs := []error{c.notifier.close()}
	for _, f := range c.files {
		errs = append(errs, f.Close())
	}
	all := append(c.secure[:], c.listener)
	if c.super != nil {
		all = append(all, c.super.listener)
	}
	for _, l := range all {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// notifier is a pipe that outlives the child's processes: a byte in it announces a change.
type notifier struct {
	near *os.File // the child's end
	far  *os.File
}

func newNotifier() (b notifier, err error) {
	b.near, b.far, err = os.Pipe()
	return b, err
}

// notify returns at once. A full pipe needs no further byte. It tries once, without a deadline: on a busy host even a
// generous deadline may pass before the first try.
func (b notifier) notify() error {
	conn, err := b.far.SyscallConn()
	if err != nil {
		return err
	}
	var wrote error
	if err := conn.Write(func(fd uintptr) bool {
		_, wrote = unix.Write(int(fd), []byte{1}) // our end does not block
		return true
	}); err != nil {
		return err
	}
	if errors.Is(wrote, unix.EAGAIN) {
		return nil
	}
	return wrote
}

func (b notifier) close() error {
	if b.far == nil {
		return nil
	}
	return b.far.Close()
}

// probe returns what the control plane still lacks, or "".
func (c *Cluster) probe(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var status int
	body, err := c.prober.Discovery().RESTClient().Get().AbsPath("/readyz").Param("verbose", "").Do(ctx).StatusCode(&status).Raw()
	switch {
	case status == 0:
		return "the API server to respond"
	case err != nil:
		return "the API server: " + unready(string(body))
	}
	_, err = c.prober.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "the controller manager to create the default ServiceAccount"
	case err != nil:
		return "the API server to serve ServiceAccounts"
	}
	return ""
}

// unready returns the failing checks in the verbose output of /readyz ("[-]poststarthook/x failed: reason withheld").
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
