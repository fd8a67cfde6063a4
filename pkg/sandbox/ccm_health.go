package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/await"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/boot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
)

const (
	// ccmStartTime is how long a cloud controller manager may take to become healthy, even on a busy machine.
	ccmStartTime = time.Minute
	// ccmProbeTime bounds one question to it.
	ccmProbeTime = 2 * time.Second
	// maxMetrics bounds the answer to the longest, in bytes.
	maxMetrics = 32 << 20
)

// watchCCMHealth asks every replica for its health: often until it is healthy, then every second.
func (s *Sandbox) watchCCMHealth(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, r := range s.ccms.all() {
			s.ccms.mu.Lock()
			healthy, since := r.healthy, r.since
			s.ccms.mu.Unlock()
			if !healthy || n%10 == 0 {
				s.probe(ctx, r)
			}
			if !healthy && time.Since(since) > s.ccmPatience() {
				// The boot ends here; later on a fault may have been made on purpose.
				s.boot.Crashed(boot.MaxCrashes, s.neverHealthy(r))
			}
		}
	}
}

// ccmPatience is [ccmStartTime], or what a test has set. At real vCenters it is that of a boot step: some log in before they
// call themselves healthy.
func (s *Sandbox) ccmPatience() time.Duration {
	if s.ccms.patience > 0 {
		return s.ccms.patience
	}
	return max(ccmStartTime, s.source.StepTime())
}

// neverHealthy says what is known of a replica that does not become healthy.
func (s *Sandbox) neverHealthy(r *replica) string {
	s.ccms.mu.Lock()
	text := fmt.Sprintf("%s: not healthy %s after its start: %s", r.name, time.Since(r.since).Round(time.Second), r.ill)
	s.ccms.mu.Unlock()
	if words := child.LastWords(child.LogTail(s.opts.Dir.Log(r.name), r.logFrom)); words != "" {
		return text + "; its last words: " + words
	}
	return text + "; it has logged nothing"
}

// probe asks a replica for its health and notes the answer, if that is still the one of the process that was asked: one
// that is being ended closes its port, which is no news of its health.
func (s *Sandbox) probe(ctx context.Context, r *replica) {
	s.ccms.mu.Lock()
	c := r.child
	s.ccms.mu.Unlock()
	if c == nil || c.PID() == 0 {
		return
	}
	asked := c.PID()
	_, err := s.askCCM(ctx, r, "/healthz")
	if ctx.Err() != nil {
		return
	}
	was, meant := false, false
	s.ccms.tell(func() {
		if meant = c.PID() == asked && !c.Ending(); !meant {
			return
		}
		was, r.healthy, r.ill = r.healthy, err == nil, ""
		if err != nil {
			r.ill = healthText(err)
		}
	})
	if !meant {
		return
	}
	s.components.Changed(r.name)
	object := event.Object{Kind: "Component", Name: r.name}
	switch {
	case err == nil && !was:
		s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "ccm.healthy", Object: object, Message: r.name + ": healthy"})
	case err != nil && was:
		s.log.Append(event.Event{
			Plane: event.PlaneSandbox, Level: event.Warning, Kind: "ccm.unhealthy", Object: object, Message: r.name + ": " + healthText(err),
		})
	}
}

func healthText(err error) string {
	var dial *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("does not answer within %s", ccmProbeTime)
	case errors.As(err, &dial) && dial.Op == "dial":
		return "does not listen at its port"
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err
	}
	return err.Error()
}

// askCCM reads one of the paths of a replica's port.
func (s *Sandbox) askCCM(ctx context.Context, r *replica, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, ccmProbeTime)
	defer cancel()
	s.ccms.mu.Lock()
	client := s.ccms.client
	s.ccms.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+net.JoinHostPort(ccmHost, r.port)+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetrics))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		text, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		return nil, fmt.Errorf("%s answers %s: %s", path, resp.Status, text)
	}
	return body, nil
}

// awaitCCM returns when every replica is healthy, or with the reason why one will not be.
func (s *Sandbox) awaitCCM(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.ccmPatience())
	defer cancel()
	for {
		var waiting, failed *replica
		s.ccms.mu.Lock()
		for _, r := range s.ccms.list {
			if !r.healthy {
				waiting = r
			}
			if r.exits >= 2 { // once is bad luck
				failed = r
			}
		}
		why := ""
		if failed != nil {
			why = failed.last
		}
		stopped, changed := s.ccms.stopped, s.ccms.awaited()
		s.ccms.mu.Unlock()
		switch {
		case stopped:
			return errStopping
		case failed != nil:
			return errors.New(why)
		case waiting == nil:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return errors.New(s.neverHealthy(waiting))
			}
			return context.Cause(ctx)
		}
	}
}

// waitCluster ends the boot: nodes are initialized, and the cloud controller manager is well, also where there are none.
func (s *Sandbox) waitCluster(ctx context.Context) error {
	if err := s.await.Each(ctx, await.Initialized(s.currentWorld, !s.opts.CCM.None)); err != nil {
		return err
	}
	return s.awaitCCM(ctx)
}

// describe adds what is known of cloud controller managers to their rows.
func (c *ccms) describe(rows []api.Component) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range rows {
		for _, r := range c.list {
			if rows[i].Name != r.name {
				continue
			}
			p := c.runs.Program
			rows[i].Source, rows[i].Version, rows[i].Digest, rows[i].Leader = p.Source, p.Version, p.Digest, r.leads
			if rows[i].Health = "healthy"; !r.healthy {
				rows[i].Health = r.ill
			}
		}
	}
}

// routeCCM adds the paths that are about the cloud controller manager.
func (s *Sandbox) routeCCM(mux *http.ServeMux) {
	mux.Handle("POST /v1/ccm", control.Request(s.swapCCM))
	mux.Handle("POST /v1/ccm/restart", control.Request(func(ctx context.Context, _ struct{}) (api.Done, error) { return s.cycleCCM(ctx) }))
	mux.HandleFunc("GET /v1/metrics/{component}", s.metrics)
}

// metrics passes on the metrics of a component as it tells them: a cloud controller manager, or the API server.
func (s *Sandbox) metrics(w http.ResponseWriter, r *http.Request) {
	body, err := s.metricsOf(r.Context(), r.PathValue("component"))
	if err != nil {
		control.Reply(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(body) // the only error is a reader who left
}

func (s *Sandbox) metricsOf(ctx context.Context, component string) ([]byte, error) {
	if component == "control-plane" {
		s.mu.Lock()
		cluster := s.cluster
		s.mu.Unlock()
		if cluster == nil {
			return nil, &api.Error{Code: "unavailable", Message: "there is no API server yet"}
		}
		return cluster.Client().CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	}
	if _, ok := s.pods.Find(component); ok {
		body, err := s.pods.Metrics(ctx, component)
		if err != nil {
			return nil, &api.Error{Code: "unavailable", Message: component + ": " + err.Error(), Try: "vsphere-sandbox logs " + component}
		}
		return body, nil
	}
	replica := s.ccms.find(component)
	if replica == nil {
		return nil, &api.Error{Code: "not-found", Message: "metrics: there is no component \"" + component + "\" that has any", Try: "vsphere-sandbox ccm status"}
	}
	body, err := s.askCCM(ctx, replica, "/metrics")
	if err != nil {
		return nil, &api.Error{Code: "unavailable", Message: component + ": " + healthText(err), Try: "vsphere-sandbox logs " + component}
	}
	return body, nil
}
