package sandbox

import (
	"context"
	"net/http"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
)

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
	if _, ok := s.podOf(component); ok {
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
