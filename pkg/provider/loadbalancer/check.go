package loadbalancer

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

const (
	// maxChecks is how many load balancers wait for a check. More are not checked.
	maxChecks = 1024
	// checkWait is how long NSX may take to realize a load balancer.
	checkWait = 30 * time.Second
)

// check is about what NSX makes of a new load balancer: it takes objects, and says later that it cannot do what they say.
type check struct {
	service  *corev1.Service
	balancer string
	servers  []string
}

// check lets a new load balancer be checked.
func (b *Balancer) check(s *corev1.Service, balancer string, servers []string) {
	select {
	case b.checks <- check{s, balancer, servers}:
	default:
	}
}

// runChecks checks new load balancers until ctx ends.
func (b *Balancer) runChecks(ctx context.Context) {
	for {
		select {
		case c := <-b.checks:
			b.checkOne(ctx, c)
		case <-ctx.Done():
			return
		}
	}
}

func (b *Balancer) checkOne(ctx context.Context, c check) {
	if !b.realized.Load() {
		state, reason := b.awaitRealized(ctx, c.balancer)
		switch state {
		case nsx.Realized:
			b.realized.Store(true)
		case nsx.Failed:
			b.warn(c.service, ReasonNotRealized, fmt.Sprintf(
				"the address will not answer: NSX cannot realize the load balancer service: %s; give the gateway %s an edge cluster and one load balancer service only",
				reason, b.cfg.Settings.Tier1GatewayPath))
			return
		}
	}
	for _, s := range c.servers {
		if state, reason := b.awaitRealized(ctx, s); state == nsx.Failed {
			b.warn(c.service, ReasonNotRealized, fmt.Sprintf(
				"the address will not answer at one of its ports: NSX cannot realize the virtual server %s: %s", s, reason))
		}
	}
}

// awaitRealized returns the state of an object when NSX has made up its mind, or after some time.
func (b *Balancer) awaitRealized(ctx context.Context, path string) (state, reason string) {
	pause := backoff.Backoff{Min: 50 * time.Millisecond, Max: 5 * time.Second}
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	for attempt := 1; ; attempt++ {
		r, err := b.cfg.Client.Realization(ctx, path)
		if err != nil {
			return "", "" // it has been deleted, or NSX cannot be asked: others say so
		}
		if r.State == nsx.Realized || r.State == nsx.Failed || backoff.Sleep(ctx, pause.After(attempt)) != nil {
			return r.State, r.Problem
		}
	}
}
