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

// defaultPeriod is the default polling period.
const defaultPeriod = 2 * time.Second

// Options configure a [Source]. File and UserAgent are mandatory.
type Options struct {
	ReadOptions
	// File is the configuration file's name.
	File string
	// Secrets reads the Secrets with credentials; may be nil if the file has none.
	Secrets kubernetes.Interface
	// Period is how often files are checked for changes; 2 s when zero.
	Period time.Duration
	// UserAgent identifies the driver to vCenters.
	UserAgent string
	// CallTimeout and MaxWait are those of [vcenter.Config].
	CallTimeout, MaxWait time.Duration
	// OnCall and OnState, if set, are called by the connections; see [vcenter.Config].
	OnCall  func(vcenter string, call vcenter.Call)
	OnState func(vcenter string, state vcenter.State)
	// Logger receives changes; discarded when nil.
	Logger *slog.Logger
}

// Source is a configuration that is watched for changes, with a connection to each of its vCenters. Create it with [Open] and
// call [Source.Run] in a goroutine; all other methods are safe for concurrent use.
type Source struct {
	opts Options
	log  *slog.Logger
	keep *keeper
	file *file // used only by Run

	mu      sync.Mutex
	cfg     *Config
	clients []*connection // in the order of cfg.VCenters
	waiting []*connection // made before Run
	running *sync.WaitGroup
	ctx     context.Context // Run's; nil before
}

// Open loads the file and creates the connections, which connect when Run runs.
func Open(o Options) (*Source, error) {
	if o.UserAgent == "" {
		return nil, errors.New("driver config: user agent is empty")
	}
	if o.Period <= 0 {
		o.Period = defaultPeriod
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := newFile(o.File)
	cfg, err := LoadFile(o.File, o.ReadOptions)
	if err != nil {
		return nil, err
	}
	s := &Source{opts: o, log: o.Logger, file: f}
	s.keep = newKeeper(o, s.credentialsChanged)
	if _, err := s.use(cfg); err != nil {
		return nil, err
	}
	for _, w := range cfg.Warnings {
		s.log.Warn("driver config", "warning", w)
	}
	return s, nil
}

// Config returns the configuration in force.
func (s *Source) Config() *Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg
}

// Clients returns the connections, in the order of the configuration's vCenters.
func (s *Source) Clients() []*vcenter.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return plainClients(s.clients)
}

func plainClients(from []*connection) []*vcenter.Client {
	clients := make([]*vcenter.Client, len(from))
	for i, c := range from {
		clients[i] = c.Client
	}
	return clients
}

// Run runs the connections and watches the file and the credentials until ctx ends, then logs out and returns nil. After
// every change it calls changed, unless nil, from its goroutine, and then ends the connections that are no longer used. It
// must be called once.
func (s *Source) Run(ctx context.Context, changed func(*Config, []*vcenter.Client)) error {
	var running sync.WaitGroup
	defer running.Wait()
	s.keep.run(ctx, &running)
	s.start(ctx, &running)
	tick := time.NewTicker(s.opts.Period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		different, err := s.file.changed()
		if different && err == nil {
			err = s.reload(changed)
		}
		if different && err != nil {
			s.log.Warn("driver config rejected: the last valid one stays in force", "err", err)
		}
	}
}

// start runs the connections of Open.
func (s *Source) start(ctx context.Context, running *sync.WaitGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.running = ctx, running
	for _, c := range s.waiting {
		c.start(ctx, running)
	}
	s.waiting = nil
}

// reload puts a changed file in force.
func (s *Source) reload(changed func(*Config, []*vcenter.Client)) error {
	cfg, err := LoadFile(s.opts.File, s.opts.ReadOptions)
	if err != nil {
		return err
	}
	if was := s.Config().ClusterID; cfg.ClusterID != was {
		return fmt.Errorf("cluster-id %q cannot become %q: the existing volumes would belong to no cluster", was, cfg.ClusterID)
	}
	old, err := s.use(cfg)
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		s.log.Warn("driver config", "warning", w)
	}
	s.log.Info("driver config changed", "vcenters", len(cfg.VCenters), "connections_ended", len(old))
	if changed != nil {
		changed(cfg, s.Clients())
	}
	for _, c := range old {
		c.stop()
	}
	return nil
}

// use puts a configuration in force, and returns the connections that it no longer uses.
func (s *Source) use(cfg *Config) (old []*connection, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var clients, fresh []*connection
	kept := map[*connection]bool{}
	for _, vc := range cfg.VCenters {
		if err := s.keep.want(vc); err != nil {
			return nil, err
		}
		c := s.connected(vc)
		if c == nil {
			if c, err = s.connect(vc); err != nil {
				return nil, err
			}
			fresh = append(fresh, c)
		}
		kept[c] = true
		clients = append(clients, c)
	}
	for i, c := range clients {
		c.adopt(cfg.VCenters[i])
	}
	for _, c := range s.clients {
		if !kept[c] {
			old = append(old, c)
		}
	}
	s.cfg, s.clients = cfg, clients
	s.keep.keepOnly(cfg.VCenters)
	for _, c := range fresh {
		if s.ctx == nil {
			s.waiting = append(s.waiting, c)
		} else {
			c.start(s.ctx, s.running)
		}
	}
	return old, nil
}

// credentialsChanged notifies the connections that use the credentials.
func (s *Source) credentialsChanged(o origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		if originOf(*c.vc.Load()) == o {
			c.CredentialsChanged()
		}
	}
}

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
