package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

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
	// The child gets the socket itself: nobody can take the port between a crash of the control plane and its restart.
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

// WaitReady returns when the API server says it is ready and the default namespace has its ServiceAccount, which
// proves that the controller manager works too. say is told what is being waited for whenever that changes.
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
