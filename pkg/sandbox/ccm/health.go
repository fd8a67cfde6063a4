package ccm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const (
	// probeTime bounds one request to a replica.
	probeTime = 2 * time.Second
	// maxBody bounds the response to a request, in bytes.
	maxBody = 32 << 20
)

// trust makes the client of the replicas, which accepts only certificates of the authorities in pool.
func (p *Processes) trust(pool *x509.CertPool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true, // a replaced replica keeps no connection
	}}
}

// watchHealth probes every replica: often until it is healthy, then every five seconds. With --v=4, a replica logs each probe.
func (p *Processes) watchHealth(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, r := range p.all() {
			p.mu.Lock()
			healthy, started := r.healthy, r.started
			p.mu.Unlock()
			if !healthy || n%50 == 0 {
				p.probe(ctx, r)
			}
			if !healthy && time.Since(started) > p.startTime() {
				p.Unhealthy(p.neverHealthy(r))
			}
		}
	}
}

// probe updates the health of a replica, unless the process that answered has ended: a closed port is then no sign of its
// health.
func (p *Processes) probe(ctx context.Context, r *replica) {
	c := p.Child(r.name)
	if c == nil || c.PID() == 0 {
		return
	}
	pid := c.PID()
	var err error
	for _, at := range p.probes(r) {
		if _, err = p.getURL(ctx, at); err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return
	}
	was, current := false, false
	p.update(func() {
		if current = c.PID() == pid && !c.Ending(); !current {
			return
		}
		was, r.healthy, r.reason = r.healthy, err == nil, ""
		if err != nil {
			r.reason = healthText(err)
		}
	})
	if !current {
		return
	}
	p.Components.Changed(r.name)
	e := event.Event{Plane: event.PlaneSandbox, Kind: "ccm.healthy", Object: event.Object{Kind: "Component", Name: r.name}, Message: r.name + ": healthy"}
	switch {
	case err == nil && !was:
		p.Log.Append(e)
	case err != nil && was:
		e.Level, e.Kind, e.Message = event.Warning, "ccm.unhealthy", r.name+": "+healthText(err)
		p.Log.Append(e)
	}
}

func healthText(err error) string {
	var dial *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("does not answer within %s", probeTime)
	case errors.As(err, &dial) && dial.Op == "dial":
		return "does not listen at its port"
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err
	}
	return err.Error()
}

// get reads a path of a replica's port.
func (p *Processes) get(ctx context.Context, r *replica, path string) ([]byte, error) {
	return p.getURL(ctx, p.base(r)+path)
}

func (p *Processes) getURL(ctx context.Context, at string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	p.mu.Lock()
	client := p.client
	p.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		text, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		return nil, fmt.Errorf("%s answers %s: %s", req.URL.Path, resp.Status, text)
	}
	return body, nil
}

// Metrics returns the metrics of a replica, in the text format of Prometheus.
func (p *Processes) Metrics(ctx context.Context, component string) ([]byte, error) {
	r := p.find(component)
	if r == nil {
		return nil, &api.Error{Code: "not-found", Message: component + ": is no cloud controller manager", Try: "vsphere-sandbox ccm status"}
	}
	body, err := p.get(ctx, r, "/metrics")
	if err != nil {
		return nil, &api.Error{Code: "unavailable", Message: component + ": " + healthText(err), Try: "vsphere-sandbox logs " + component}
	}
	return body, nil
}
