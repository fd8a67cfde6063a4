package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// origin is where a vCenter's credentials come from: a Secret, a directory, or the configuration itself.
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

// followed is whether somebody has to look whether they change.
func (o origin) followed() bool { return o.directory != "" || o.secret != (SecretRef{}) }

// keeper follows the places that hold credentials.
type keeper struct {
	log     *slog.Logger
	client  kubernetes.Interface
	period  time.Duration
	changed func(origin)

	mu      sync.Mutex
	held    map[origin]holding
	ctx     context.Context // nil before run
	running *sync.WaitGroup
}

// holding is one such place.
type holding struct {
	follow func(context.Context) // returns when its context has ended
	read   func(ctx context.Context, server string) (provider.Credentials, error)
	stop   context.CancelFunc // nil until it is followed
}

func newKeeper(o Options, changed func(origin)) *keeper {
	return &keeper{log: o.Logger, client: o.Secrets, period: o.Period, changed: changed, held: map[origin]holding{}}
}

// want has the place of a vCenter's credentials followed from now on, or from run on.
func (k *keeper) want(vc VCenter) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	o := originOf(vc)
	if _, ok := k.held[o]; ok || !o.followed() {
		return nil
	}
	var h holding
	switch {
	case o.directory != "":
		d := provider.NewDirectory(o.directory, k.period, func(err error) {
			k.log.Info("secrets directory changed", "directory", o.directory, "err", err)
			k.changed(o)
		})
		h = holding{follow: d.Run, read: func(_ context.Context, server string) (provider.Credentials, error) { return d.Credentials(server) }}
	case k.client == nil:
		return fmt.Errorf("vcenter %q: credentials are in the Secret %s/%s, and there is no API server to ask",
			vc.Tenant, o.secret.Namespace, o.secret.Name)
	default:
		s := newSecret(k.client, o.secret, func(exists bool) {
			k.log.Info("credentials secret changed", "namespace", o.secret.Namespace, "secret", o.secret.Name, "exists", exists)
			k.changed(o)
		})
		h = holding{follow: s.follow, read: s.credentials}
	}
	if k.ctx != nil {
		k.begin(&h)
	}
	k.held[o] = h
	return nil
}

// run begins to follow, until ctx ends; running counts what it starts.
func (k *keeper) run(ctx context.Context, running *sync.WaitGroup) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ctx, k.running = ctx, running
	for o, h := range k.held {
		k.begin(&h)
		k.held[o] = h
	}
}

func (k *keeper) begin(h *holding) {
	var ctx context.Context
	ctx, h.stop = context.WithCancel(k.ctx)
	follow := h.follow
	k.running.Go(func() { follow(ctx) })
}

// only ends the following of places that none of these has its credentials in.
func (k *keeper) only(vcs []VCenter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	used := map[origin]bool{}
	for _, vc := range vcs {
		used[originOf(vc)] = true
	}
	for o, h := range k.held {
		if !used[o] {
			if h.stop != nil {
				h.stop()
			}
			delete(k.held, o)
		}
	}
}

// credentials returns what to log in with at this moment.
func (k *keeper) credentials(ctx context.Context, vc VCenter) (vcenter.Credentials, error) {
	o := originOf(vc)
	if !o.followed() {
		return vcenter.Credentials{User: o.user, Password: o.password}, nil
	}
	k.mu.Lock()
	h, ok := k.held[o]
	k.mu.Unlock()
	if !ok {
		return vcenter.Credentials{}, errors.New("credentials of a vCenter that is no longer configured")
	}
	c, err := h.read(ctx, vc.Server)
	return vcenter.Credentials(c), err
}
