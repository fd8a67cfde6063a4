package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// secretWait is how long a login waits until its Secret has been read for the first time.
const secretWait = 5 * time.Second

var errNotRead = errors.New("not read yet")

// secrets watches the Secrets with credentials.
type secrets struct {
	log     *slog.Logger
	changed func(config.SecretRef)

	mu      sync.Mutex
	watched map[config.SecretRef]*watchedSecret
	begin   func(config.SecretRef, *watchedSecret) // nil until follow
}

// watchedSecret is the last state of one Secret.
type watchedSecret struct {
	data map[string][]byte  // nil when it does not exist
	read chan struct{}      // closed after the first read
	err  error              // why it cannot be read now
	stop context.CancelFunc // nil until it is watched
}

func newSecrets(log *slog.Logger, changed func(config.SecretRef)) *secrets {
	return &secrets{log: log, changed: changed, watched: map[config.SecretRef]*watchedSecret{}}
}

// want adds a Secret to watch. The watch starts now, or with follow.
func (s *secrets) want(ref config.SecretRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched[ref] != nil {
		return
	}
	h := &watchedSecret{read: make(chan struct{})}
	s.watched[ref] = h
	if s.begin != nil {
		s.begin(ref, h)
	}
}

// follow starts watching the wanted Secrets until ctx ends; running counts its goroutines.
func (s *secrets) follow(ctx context.Context, client kubernetes.Interface, running *sync.WaitGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin = func(ref config.SecretRef, h *watchedSecret) {
		var of context.Context
		of, h.stop = context.WithCancel(ctx)
		s.watch(of, client, running, ref, h)
	}
	for ref, h := range s.watched {
		s.begin(ref, h)
	}
}

// keep stops watching all Secrets but these.
func (s *secrets) keep(refs map[config.SecretRef]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, h := range s.watched {
		if refs[ref] {
			continue
		}
		if h.stop != nil {
			h.stop()
		}
		delete(s.watched, ref)
	}
}

// set stores the Secret that the watch delivers.
func (s *secrets) set(ref config.SecretRef, h *watchedSecret, o any, deleted bool) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err != nil || key != ref.Namespace+"/"+ref.Name {
		return // another Secret: not every server implements the field selector
	}
	secret, ok := o.(*corev1.Secret)
	deleted = deleted || !ok
	s.mu.Lock()
	h.err = nil
	if deleted {
		h.data = nil
	} else {
		h.data = secret.Data
	}
	s.mu.Unlock()
	s.log.Info("credentials secret changed", "namespace", ref.Namespace, "secret", ref.Name, "exists", !deleted)
	s.changed(ref)
}

// failed stores why a Secret cannot be read. It calls changed if there is no older content.
func (s *secrets) failed(ref config.SecretRef, h *watchedSecret, err error) {
	s.mu.Lock()
	first := h.err == nil && h.data == nil
	h.err = err
	s.mu.Unlock()
	if first {
		s.changed(ref)
	}
}

// listed records that the Secret has been read for the first time. It calls changed if the Secret does not exist.
func (s *secrets) listed(ref config.SecretRef, h *watchedSecret) {
	s.mu.Lock()
	exists := h.data != nil
	h.err = nil
	close(h.read)
	s.mu.Unlock()
	if !exists {
		s.changed(ref)
	}
}

// credentials returns the Secret's credentials for a server. It waits up to secretWait for the first read.
func (s *secrets) credentials(ctx context.Context, ref config.SecretRef, names ...string) (vcenter.Credentials, error) {
	s.await(ctx, ref)
	return s.now(ref, names...)
}

// await waits up to secretWait for the first read of a Secret.
func (s *secrets) await(ctx context.Context, ref config.SecretRef) {
	s.mu.Lock()
	h := s.watched[ref]
	s.mu.Unlock()
	if h == nil {
		return
	}
	t := time.NewTimer(secretWait)
	defer t.Stop()
	select {
	case <-h.read:
	case <-t.C:
	case <-ctx.Done():
	}
}

// read returns the data of a Secret as last read. It waits up to secretWait for the first read.
func (s *secrets) read(ctx context.Context, ref config.SecretRef) (map[string][]byte, error) {
	s.await(ctx, ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.watched[ref]
	if h == nil {
		return nil, errors.New("no longer in use")
	}
	return h.data, h.missing()
}

// now returns the Secret's credentials for a server as last read.
func (s *secrets) now(ref config.SecretRef, names ...string) (vcenter.Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.watched[ref]
	if h == nil {
		return vcenter.Credentials{}, fmt.Errorf("secret %s/%s: no longer in use", ref.Namespace, ref.Name)
	}
	c, err := h.credentials(names)
	if err != nil {
		return c, fmt.Errorf("secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	return c, nil
}

func (h *watchedSecret) credentials(names []string) (vcenter.Credentials, error) {
	if err := h.missing(); err != nil {
		return vcenter.Credentials{}, err
	}
	return loginCredentials(config.ParseSecret("secret", h.data).For(names...))
}

// missing returns why there is no data. The lock is held.
func (h *watchedSecret) missing() error {
	switch {
	case h.data != nil:
		return nil
	case h.err != nil:
		return h.err
	}
	select {
	case <-h.read:
		return errors.New("does not exist")
	default:
		return errNotRead
	}
}

// directories watches the directories with credentials.
type directories struct {
	log     *slog.Logger
	period  time.Duration
	changed func(path string)

	mu      sync.Mutex
	watched map[string]*watchedDirectory
	begin   func(*watchedDirectory) // nil until follow
}

type watchedDirectory struct {
	*config.Directory
	stop context.CancelFunc // nil until it is watched
}

func newDirectories(log *slog.Logger, period time.Duration, changed func(string)) *directories {
	return &directories{log: log, period: period, changed: changed, watched: map[string]*watchedDirectory{}}
}

// want adds a directory to watch. The watch starts now, or with follow.
func (d *directories) want(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watched[path] != nil {
		return
	}
	h := &watchedDirectory{Directory: config.NewDirectory(path, d.period, func(err error) {
		d.log.Info("secrets directory changed", "directory", path, "err", err)
		d.changed(path)
	})}
	d.watched[path] = h
	if d.begin != nil {
		d.begin(h)
	}
}

// follow starts watching; running counts its goroutines.
func (d *directories) follow(ctx context.Context, running *sync.WaitGroup) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begin = func(h *watchedDirectory) {
		var of context.Context
		of, h.stop = context.WithCancel(ctx)
		running.Go(func() { h.Run(of) })
	}
	for _, h := range d.watched {
		d.begin(h)
	}
}

// keep stops watching all directories but these.
func (d *directories) keep(paths map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, h := range d.watched {
		if paths[path] {
			continue
		}
		if h.stop != nil {
			h.stop()
		}
		delete(d.watched, path)
	}
}

func (d *directories) credentials(path string, names []string) (config.Credentials, error) {
	d.mu.Lock()
	h := d.watched[path]
	d.mu.Unlock()
	if h == nil {
		return config.Credentials{}, fmt.Errorf("secrets directory %s: no longer in use", path)
	}
	return h.Credentials(names...)
}

// origin is the source of a vCenter's credentials: a Secret, a directory, or the configuration itself.
type origin struct {
	secret         config.SecretRef
	directory      string
	user, password string
}

func originOf(vc config.VCenter) origin {
	switch {
	case vc.SecretsDirectory != "":
		return origin{directory: vc.SecretsDirectory}
	case vc.Secret != (config.SecretRef{}):
		return origin{secret: vc.Secret}
	}
	return origin{user: vc.User, password: vc.Password}
}

// credentials returns the credentials to log in with now.
func (p *Provider) credentials(ctx context.Context, vc config.VCenter) (vcenter.Credentials, error) {
	o := originOf(vc)
	switch {
	case o.directory != "":
		return loginCredentials(p.dirs.credentials(o.directory, vc.SecretKeys()))
	case o.secret != (config.SecretRef{}):
		return p.secrets.credentials(ctx, o.secret, vc.SecretKeys()...)
	}
	return vcenter.Credentials{User: o.user, Password: o.password}, nil
}

// want starts watching the source of a vCenter's credentials.
func (p *Provider) want(vc config.VCenter) {
	switch o := originOf(vc); {
	case o.directory != "":
		p.dirs.want(o.directory)
	case o.secret != (config.SecretRef{}):
		p.secrets.want(o.secret)
	}
}

// keep stops watching sources that none of the generations uses.
func (p *Provider) keep(generations ...*generation) {
	secrets, dirs := map[config.SecretRef]bool{}, map[string]bool{}
	for _, g := range generations {
		for _, vc := range g.cfg.VCenters {
			secrets[originOf(vc).secret] = true
			dirs[originOf(vc).directory] = true
		}
		if g.manager != nil {
			secrets[g.manager.made.Secret] = true
		}
	}
	p.secrets.keep(secrets)
	p.dirs.keep(dirs)
}

// originChanged notifies the connections that use the credentials, in force or proposed.
func (p *Provider) originChanged(o origin) {
	inForce, seen := p.now(), map[*connection]bool{}
	for _, g := range []*generation{inForce, p.next.Load()} {
		if g == nil {
			continue
		}
		for _, vc := range g.cfg.VCenters {
			c := g.clients[vc.Tenant]
			if originOf(vc) != o || seen[c] {
				continue
			}
			seen[c] = true
			c.CredentialsChanged()
			// A connected client keeps its session and does not report missing credentials.
			if g == inForce {
				p.events.credentials(vc, c.State().Connected, p.credentialsError(vc))
			}
		}
	}
}

// credentialsError returns why there are no credentials now. It does not wait.
func (p *Provider) credentialsError(vc config.VCenter) error {
	var err error
	switch o := originOf(vc); {
	case o.directory != "":
		_, err = p.dirs.credentials(o.directory, vc.SecretKeys())
	case o.secret != (config.SecretRef{}):
		_, err = p.secrets.now(o.secret, vc.SecretKeys()...)
	}
	return err
}

func loginCredentials(c config.Credentials, err error) (vcenter.Credentials, error) {
	if err != nil {
		return vcenter.Credentials{}, err
	}
	return vcenter.Credentials(c), nil
}

// watch follows one Secret until ctx ends. It watches that name alone, so a Role that grants list and watch on it is
// enough.
func (s *secrets) watch(ctx context.Context, client kubernetes.Interface, running *sync.WaitGroup, ref config.SecretRef, h *watchedSecret) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(ref.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
		}))
	informer := factory.Core().V1().Secrets().Informer()
	// Neither call can fail before the informer has started.
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		s.failed(ref, h, err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	handler, _ := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.set(ref, h, o, false) },
		UpdateFunc: func(_, o any) { s.set(ref, h, o, false) },
		DeleteFunc: func(o any) { s.set(ref, h, o, true) },
	})
	factory.StartWithContext(ctx)
	running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
			s.listed(ref, h)
		}
		<-ctx.Done()
		factory.Shutdown()
	})
}
