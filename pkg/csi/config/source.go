package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// defaultPeriod is the default polling period.
const defaultPeriod = 2 * time.Second

// Options configure a [Source]. File and UserAgent are mandatory.
type Options struct {
	Reading
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
	cfg, err := LoadFile(o.File, o.Reading)
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
	cfg, err := LoadFile(s.opts.File, s.opts.Reading)
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
