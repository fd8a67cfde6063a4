package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/loadbalancer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nodeevent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

// manager is the connection to the NSX Manager. It may outlive a generation.
type manager struct {
	*nsx.Client
	made config.NSX
}

// manager returns the connection for a configuration: that of the generation before, if its settings are the same.
func (p *Provider) manager(cfg *config.NSX, before *generation) (*manager, error) {
	if before != nil && before.manager != nil && before.manager.made == *cfg {
		return before.manager, nil
	}
	if cfg.Secret != (config.SecretRef{}) {
		p.secrets.want(cfg.Secret)
	}
	made := *cfg
	c := nsx.Config{
		Host: made.Host, Insecure: made.InsecureFlag, CAFile: made.CAFile,
		CertFile: made.ClientAuthCertFile, KeyFile: made.ClientAuthKeyFile, TokenHost: made.VMCAuthHost,
		UserAgent: UserAgent, CallTimeout: p.opts.CallTimeout, Logger: p.log,
		OnCall:  func(c nsx.Call) { p.metrics.NSXCall(made.Host, c.Method, c.Result, c.Duration) },
		OnState: func(err error) { p.events.nsx(made, err) },
	}
	if made.ClientAuthCertFile == "" {
		c.Credentials = func(ctx context.Context) (nsx.Credentials, error) { return p.nsxCredentials(ctx, made) }
	}
	client, err := nsx.New(c)
	return &manager{client, made}, err
}

// nsxCredentials returns the credentials to log in with now.
func (p *Provider) nsxCredentials(ctx context.Context, c config.NSX) (nsx.Credentials, error) {
	switch {
	case c.VMCAccessToken != "":
		return nsx.Credentials{Token: c.VMCAccessToken}, nil
	case c.Secret == (config.SecretRef{}):
		return nsx.Credentials{User: c.User, Password: c.Password, Remote: c.RemoteAuth}, nil
	}
	user, password, err := p.secrets.account(ctx, c.Secret)
	return nsx.Credentials{User: user, Password: password, Remote: c.RemoteAuth}, err
}

// account returns the user and the password of a Secret with the keys username and password. It waits up to secretWait for the
// first read.
func (s *secrets) account(ctx context.Context, ref config.SecretRef) (user, password string, err error) {
	data, err := s.read(ctx, ref)
	if err == nil {
		user, password, err = config.Account(data)
	}
	if err != nil {
		return "", "", fmt.Errorf("secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	return user, password, nil
}

// withManager adds the connection to the NSX Manager to a generation, if one is configured.
func (p *Provider) withManager(g *generation, before *generation) (err error) {
	if g.cfg.NSX != nil {
		g.manager, err = p.manager(g.cfg.NSX, before)
	}
	return err
}

// withBalancer adds load balancers at the NSX Manager to a generation, if they are configured.
func (p *Provider) withBalancer(g *generation) {
	if g.cfg.LoadBalancer == nil || g.manager == nil {
		return
	}
	g.balancer = loadbalancer.New(loadbalancer.Config{
		Client: g.manager.Client, Settings: *g.cfg.LoadBalancer, Logger: p.log,
		ClusterUID: p.cluster.id, Services: p.cluster.services, Service: p.cluster.service,
		Event: func(s *corev1.Service, kind, reason, message string) {
			p.events.do(func() { p.events.recorder.Event(s, kind, reason, nodeevent.Note(message)) })
		},
	})
}

// serveBalancer collects what deleted Services have left, as long as the generation is in force.
func (p *Provider) serveBalancer(g *generation) {
	if g.balancer != nil {
		p.running.Go(func() { g.balancer.Run(g.running, p.opts.ClusterName) })
	}
}

// logoutWait bounds the end of a session at NSX.
const logoutWait = 2 * time.Second

// closeManager ends the generation's session at NSX, unless the generation in force has it too.
func (p *Provider) closeManager(g *generation) {
	if g.manager == nil || p.closed.Err() == nil && p.now().manager == g.manager && p.now() != g {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.running), logoutWait)
	defer cancel()
	g.manager.Close(ctx)
}

// balancers is the cloudprovider.LoadBalancer of all generations: each call is one of the generation in force.
type balancers struct{ *Provider }

// LoadBalancer implements [cloudprovider.Interface]. There are load balancers if the configuration has nsxt and loadBalancer.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	if p.now().balancer == nil {
		return nil, false
	}
	return balancers{p}, true
}

var errNoBalancers = errors.New("the configuration has no load balancers")

func (b balancers) now() (*loadbalancer.Balancer, error) {
	if balancer := b.Provider.now().balancer; balancer != nil {
		return balancer, nil
	}
	return nil, errNoBalancers
}

// GetLoadBalancer implements [cloudprovider.LoadBalancer].
func (b balancers) GetLoadBalancer(ctx context.Context, cluster string, s *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	now, err := b.now()
	if err != nil {
		return nil, false, err
	}
	return now.GetLoadBalancer(ctx, cluster, s)
}

// GetLoadBalancerName implements [cloudprovider.LoadBalancer].
func (b balancers) GetLoadBalancerName(_ context.Context, cluster string, s *corev1.Service) string {
	return loadbalancer.Name(cluster, s)
}

// EnsureLoadBalancer implements [cloudprovider.LoadBalancer].
func (b balancers) EnsureLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	now, err := b.now()
	if err != nil {
		return nil, err
	}
	return now.EnsureLoadBalancer(ctx, cluster, s, nodes)
}

// UpdateLoadBalancer implements [cloudprovider.LoadBalancer].
func (b balancers) UpdateLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) error {
	now, err := b.now()
	if err != nil {
		return err
	}
	return now.UpdateLoadBalancer(ctx, cluster, s, nodes)
}

// EnsureLoadBalancerDeleted implements [cloudprovider.LoadBalancer].
func (b balancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, s *corev1.Service) error {
	now, err := b.now()
	if err != nil {
		return err
	}
	return now.EnsureLoadBalancerDeleted(ctx, cluster, s)
}

// apiCluster is the cluster, as its API server has it. Before start its answers are errors.
type apiCluster struct {
	mu     sync.Mutex
	client kubernetes.Interface
	uid    string
}

var errNotStarted = errors.New("the provider has not started")

func (c *apiCluster) start(client kubernetes.Interface) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = client
}

func (c *apiCluster) get() (client kubernetes.Interface, uid string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		return nil, "", errNotStarted
	}
	return c.client, c.uid, nil
}

// id returns the UID of the namespace kube-system, which a cluster has for ever.
func (c *apiCluster) id(ctx context.Context) (string, error) {
	client, uid, err := c.get()
	if err != nil || uid != "" {
		return uid, err
	}
	ns, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("the cluster's UID: %w", err)
	}
	if ns.UID == "" {
		return "", fmt.Errorf("the cluster's UID: the namespace %s has none", metav1.NamespaceSystem)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uid = string(ns.UID)
	return c.uid, nil
}

// services returns all Services.
func (c *apiCluster) services(ctx context.Context) ([]corev1.Service, error) {
	client, _, err := c.get()
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (c *apiCluster) service(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	client, _, err := c.get()
	if err != nil {
		return nil, err
	}
	return client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
}

// The reasons of the Events about the NSX Manager.
const (
	ReasonNSXConnected   = "NSXConnected"
	ReasonNSXLoginFailed = "NSXLoginFailed"
	ReasonNSXUnreachable = "NSXUnreachable"
)

// nsx writes an Event when NSX can be used, and when not: on the Secret with the credentials, or on the Pod if they are not in a
// Secret.
func (n *notifier) nsx(c config.NSX, err error) {
	n.do(func() {
		object := n.ownPod()
		if c.Secret != (config.SecretRef{}) {
			object = &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: c.Secret.Namespace, Name: c.Secret.Name}
		}
		kind, reason, message := corev1.EventTypeNormal, ReasonNSXConnected, "NSX "+c.Host+": connected"
		switch {
		case errors.Is(err, nsx.ErrCredentials), errors.Is(err, nsx.ErrNoCredentials):
			kind, reason = corev1.EventTypeWarning, ReasonNSXLoginFailed
			message = sentence(nodeevent.Text(err.Error()), "correct the credentials of nsxt, or unlock the account")
		case err != nil:
			kind, reason = corev1.EventTypeWarning, ReasonNSXUnreachable
			message = sentence(nodeevent.Text(err.Error()), "check that NSX is up and reachable from here")
		}
		const key = "NSX"
		if object == nil || n.last[key] == reason {
			return
		}
		n.last[key] = reason
		n.recorder.Event(object, kind, reason, nodeevent.Note(message))
	})
}
