package kind

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

var _ cluster.Cluster = (*Cluster)(nil)

// Cluster is one cluster of kind's. Make one with [New]; what needs an API server may be called, from any goroutine, once
// [Cluster.Create] has returned.
type Cluster struct {
	opts     Options
	machines []machine
	config   []byte
	services netip.Prefix
	pods     netip.Prefix // the zero value where they have IPv6 alone

	rt     *runtime.Runtime
	rest   *rest.Config
	client kubernetes.Interface
	took   time.Duration

	mu     sync.Mutex
	relays []*relay
}

// New checks the options and renders the configuration. Nothing is touched, and nothing has to be given back.
func New(opts Options) (*Cluster, error) {
	if err := opts.check(); err != nil {
		return nil, &coded.Error{Code: "usage", Message: "kind", Err: err}
	}
	c := &Cluster{opts: opts, machines: machines(opts), rt: opts.Runtime}
	if err := c.render(); err != nil {
		return nil, err
	}
	return c, nil
}

// render makes the configuration out of the options.
func (c *Cluster) render() error {
	rendered := config(c.opts, c.machines)
	if len(c.opts.UserConfig) > 0 {
		u, err := parseUser(c.opts.UserFile, c.opts.UserConfig)
		if err == nil {
			err = u.merge(rendered, c.machines)
		}
		if err != nil {
			return &coded.Error{Code: ConfigInvalid, Message: "kind configuration", Err: err}
		}
	}
	var err error
	c.pods, _ = ipv4(rendered.Networking.PodSubnet)
	if c.services, err = ipv4(rendered.Networking.ServiceSubnet); err != nil {
		return &coded.Error{Code: ConfigInvalid, Message: "kind configuration", Err: err}
	}
	c.config, err = encode(rendered)
	return err
}

// Name is what kind calls the cluster.
func (c *Cluster) Name() string { return ClusterName(c.opts.Name) }

// Took is how long kind itself has worked at the cluster: what comes before and after is left out. It is known when
// [Cluster.Create] has returned.
func (c *Cluster) Took() time.Duration { return c.took }

// Context is the name of the admin's context in [Cluster.Kubeconfig].
func (c *Cluster) Context() string { return ClusterName(c.opts.Name) }

// Kubeconfig is the path of the admin's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.opts.Dir, "kubeconfig") }

// Client speaks as the admin.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// REST is how [Cluster.Client] speaks: a copy.
func (c *Cluster) REST() *rest.Config { return rest.CopyConfig(c.rest) }

// Server is the API server's URL as this machine reaches it.
func (c *Cluster) Server() string { return c.rest.Host }

// Addr is the API server's address on this machine, host:port.
func (c *Cluster) Addr() string {
	u, err := url.Parse(c.rest.Host)
	if err != nil { // it was read as one before
		return c.rest.Host
	}
	return u.Host
}

// Token implements [cluster.Cluster].
func (c *Cluster) Token(path, addr, tokenFile string) error {
	return cluster.WriteToken(c.rest, path, addr, tokenFile)
}

// Container is the name of a node's container; "" when there is no node of that name.
func (c *Cluster) Container(node string) string {
	for _, m := range c.machines {
		if m.Name == node {
			return m.container
		}
	}
	return ""
}

// ByID is the directory on this machine that is the node's /dev/disk/by-id: a device made there shows in the node at once.
// "" when there is no such node, or it is no VM.
func (c *Cluster) ByID(node string) string {
	for _, m := range c.machines {
		if m.Name == node {
			return m.ByID
		}
	}
	return ""
}

// Spare is the node that runs the control plane and is no VM, "" when a VM does.
func (c *Cluster) Spare() string {
	for _, m := range c.machines {
		if !m.vm {
			return m.Name
		}
	}
	return ""
}

// names are those of all nodes.
func (c *Cluster) names() []string {
	var all []string
	for _, m := range c.machines {
		all = append(all, m.Name)
	}
	return all
}

// container is [Cluster.Container] with an error for people.
func (c *Cluster) container(node string) (string, error) {
	if c.rt == nil {
		return "", fmt.Errorf("cluster %s: has not been made", c.Name())
	}
	if name := c.Container(node); name != "" {
		return name, nil
	}
	return "", fmt.Errorf("node %q: there is no such node in cluster %s", node, c.Name())
}

// Close ends what [Cluster.Expose] has made. The cluster goes on.
func (c *Cluster) Close() error {
	c.mu.Lock()
	relays := c.relays
	c.relays = nil
	c.mu.Unlock()
	var errs []error
	for _, r := range relays {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}
