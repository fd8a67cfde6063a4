package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

type connection struct {
	*vcenter.Client
	made settings
	vc   atomic.Pointer[VCenter] // in force
	end  context.CancelFunc      // nil before start
}

// settings are what a client is created with: if they change, a new client is needed. The content of the CA file is not part
// of them, because a client reads it for every connection.
type settings struct {
	name, host         string
	port               int
	insecure           bool
	caFile, thumbprint string
	roundTrips         int
}

func settingsOf(vc VCenter) settings {
	return settings{vc.Tenant, vc.Server, vc.Port, vc.InsecureFlag, vc.CAFile, vc.Thumbprint, vc.SOAPRoundtripCount}
}

// connected returns the connection with vc's settings, or nil.
func (s *Source) connected(vc VCenter) *connection {
	for _, c := range s.clients {
		if c.made == settingsOf(vc) {
			return c
		}
	}
	return nil
}

// connect returns a connection that has made no call yet.
func (s *Source) connect(vc VCenter) (*connection, error) {
	c := &connection{made: settingsOf(vc)}
	c.vc.Store(&vc)
	cfg := vcenter.Config{
		Name: vc.Tenant, Server: vc.Server, Port: vc.Port,
		Insecure: vc.InsecureFlag, CAFile: vc.CAFile, Thumbprint: vc.Thumbprint,
		UserAgent:   s.opts.UserAgent,
		Credentials: func(ctx context.Context) (vcenter.Credentials, error) { return s.keep.credentials(ctx, *c.vc.Load()) },
		CallTimeout: s.opts.CallTimeout, MaxWait: s.opts.MaxWait, RoundTrips: vc.SOAPRoundtripCount,
		Logger: s.log,
	}
	if s.opts.OnCall != nil {
		cfg.OnCall = func(call vcenter.Call) { s.opts.OnCall(vc.Tenant, call) }
	}
	if s.opts.OnState != nil {
		cfg.OnState = func(state vcenter.State) { s.opts.OnState(vc.Tenant, state) }
	}
	var err error
	c.Client, err = vcenter.New(cfg)
	return c, err
}

// adopt switches a connection to the configuration that is now in force.
func (c *connection) adopt(vc VCenter) {
	if before := c.vc.Swap(&vc); originOf(*before) != originOf(vc) {
		c.CredentialsChanged()
	}
}

func (c *connection) start(ctx context.Context, running *sync.WaitGroup) {
	ctx, c.end = context.WithCancel(ctx)
	running.Go(func() { _ = c.Run(ctx) }) // always nil
}

func (c *connection) stop() {
	if c.end != nil {
		c.end()
	}
}

// origin is the source of a vCenter's credentials: a Secret, a directory, or the configuration itself.
type origin struct {
	secret         SecretRef
	directory      string
	user, password string
}

func originOf(vc VCenter) origin {
	switch {
	case vc.SecretsDirectory != "":
		return origin{directory: vc.SecretsDirectory}
	case vc.Secret != (SecretRef{}):
		return origin{secret: vc.Secret}
	}
	return origin{user: vc.User, password: vc.Password}
}

// isWatched reports whether the source must be watched.
func (o origin) isWatched() bool { return o.directory != "" || o.secret != (SecretRef{}) }

// keeper watches the sources of credentials.
type keeper struct {
	log     *slog.Logger
	client  kubernetes.Interface
	period  time.Duration
	changed func(origin)

	mu      sync.Mutex
	watched map[origin]source
	ctx     context.Context // nil before run
	running *sync.WaitGroup
}

// source is one watched source.
type source struct {
	follow func(context.Context) // returns when its context has ended
	read   func(ctx context.Context, server string) (provider.Credentials, error)
	stop   context.CancelFunc // nil until it is watched
}

func newKeeper(o Options, changed func(origin)) *keeper {
	return &keeper{log: o.Logger, client: o.Secrets, period: o.Period, changed: changed, watched: map[origin]source{}}
}

// want watches the source of a vCenter's credentials, from now on or when run starts.
func (k *keeper) want(vc VCenter) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	o := originOf(vc)
	if _, ok := k.watched[o]; ok || !o.isWatched() {
		return nil
	}
	var h source
	switch {
	case o.directory != "":
		d := provider.NewDirectory(o.directory, k.period, func(err error) {
			k.log.Info("secrets directory changed", "directory", o.directory, "err", err)
			k.changed(o)
		})
		h = source{follow: d.Run, read: func(_ context.Context, server string) (provider.Credentials, error) { return d.Credentials(server) }}
	case k.client == nil:
		return fmt.Errorf("vcenter %q: credentials are in the Secret %s/%s, but no API server is configured",
			vc.Tenant, o.secret.Namespace, o.secret.Name)
	default:
		s := newSecret(k.client, o.secret, func(exists bool) {
			k.log.Info("credentials secret changed", "namespace", o.secret.Namespace, "secret", o.secret.Name, "exists", exists)
			k.changed(o)
		})
		h = source{follow: s.follow, read: s.credentials}
	}
	if k.ctx != nil {
		k.begin(&h)
	}
	k.watched[o] = h
	return nil
}

// run starts watching until ctx ends; running counts its goroutines.
func (k *keeper) run(ctx context.Context, running *sync.WaitGroup) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ctx, k.running = ctx, running
	for o, h := range k.watched {
		k.begin(&h)
		k.watched[o] = h
	}
}

func (k *keeper) begin(h *source) {
	var ctx context.Context
	ctx, h.stop = context.WithCancel(k.ctx)
	follow := h.follow
	k.running.Go(func() { follow(ctx) })
}

// keepOnly stops watching sources that none of vcs uses.
func (k *keeper) keepOnly(vcs []VCenter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	used := map[origin]bool{}
	for _, vc := range vcs {
		used[originOf(vc)] = true
	}
	for o, h := range k.watched {
		if !used[o] {
			if h.stop != nil {
				h.stop()
			}
			delete(k.watched, o)
		}
	}
}

// credentials returns the credentials to log in with now.
func (k *keeper) credentials(ctx context.Context, vc VCenter) (vcenter.Credentials, error) {
	o := originOf(vc)
	if !o.isWatched() {
		return vcenter.Credentials{User: o.user, Password: o.password}, nil
	}
	k.mu.Lock()
	h, ok := k.watched[o]
	k.mu.Unlock()
	if !ok {
		return vcenter.Credentials{}, errors.New("credentials of a vCenter that is no longer configured")
	}
	c, err := h.read(ctx, vc.Server)
	return vcenter.Credentials(c), err
}

// secretWait is how long a login waits until its Secret has been read for the first time.
const secretWait = 5 * time.Second

// secret watches one Secret, by name: a Role that grants list and watch on that Secret is enough.
type secret struct {
	ref     SecretRef
	client  kubernetes.Interface
	changed func(exists bool)

	first chan struct{} // closed after the first read, also if the Secret does not exist

	mu   sync.Mutex
	data map[string][]byte // nil if it does not exist
	err  error             // why it cannot be read now
}

func newSecret(client kubernetes.Interface, ref SecretRef, changed func(bool)) *secret {
	return &secret{ref: ref, client: client, changed: changed, first: make(chan struct{})}
}

func (s *secret) follow(ctx context.Context) {
	factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0,
		informers.WithNamespace(s.ref.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.ref.Name).String()
		}))
	informer := factory.Core().V1().Secrets().Informer()
	// Neither call can fail before the informer has started.
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		s.failed(err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	handler, _ := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.set(o, false) },
		UpdateFunc: func(_, o any) { s.set(o, false) },
		DeleteFunc: func(o any) { s.set(o, true) },
	})
	factory.StartWithContext(ctx)
	if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		close(s.first)
	}
	<-ctx.Done()
	factory.Shutdown()
}

func (s *secret) set(o any, deleted bool) {
	found, ok := o.(*corev1.Secret)
	if ok && (found.Name != s.ref.Name || found.Namespace != s.ref.Namespace) {
		return // another Secret: not every server implements the field selector
	}
	s.mu.Lock()
	s.err, s.data = nil, nil
	if ok && !deleted {
		if s.data = found.Data; s.data == nil {
			s.data = map[string][]byte{}
		}
	}
	exists := s.data != nil
	s.mu.Unlock()
	s.changed(exists)
}

func (s *secret) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// credentials returns the Secret's credentials for a server. It waits up to secretWait for the first read.
func (s *secret) credentials(ctx context.Context, server string) (provider.Credentials, error) {
	timer := time.NewTimer(secretWait)
	defer timer.Stop()
	read := true
	select {
	case <-s.first:
	case <-timer.C:
		read = false
	case <-ctx.Done():
		read = false
	}
	s.mu.Lock()
	data, err := s.data, s.err
	s.mu.Unlock()
	var c provider.Credentials
	switch {
	case data != nil:
		c, err = provider.ParseSecret("secret", data).For(server)
	case err == nil && read:
		err = errors.New("does not exist")
	case err == nil:
		err = errors.New("not read yet")
	}
	if err != nil {
		return c, fmt.Errorf("secret %s/%s: %w", s.ref.Namespace, s.ref.Name, err)
	}
	return c, nil
}
