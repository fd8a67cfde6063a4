package health

import (
	"io"
	"net/http"
)

// standby is the answer of a process that follows no vCenter.
const standby = "standby\n"

// handler answers everything.
func (c Config) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { c.ready(w, r, c.Source()) })
	mux.HandleFunc("GET /readyz/{tenant}", func(w http.ResponseWriter, r *http.Request) {
		all := c.Source()
		if len(all) == 0 {
			answer(w, http.StatusOK, standby)
			return
		}
		for _, s := range all {
			if s.Tenant == r.PathValue("tenant") {
				c.ready(w, r, []Status{s})
				return
			}
		}
		answer(w, http.StatusNotFound, "no such vcenter\n")
	})
	if c.Metrics != nil {
		mux.Handle("GET /metrics", c.Metrics)
	}
	return mux
}

// ready answers for vCenters: shortly when all is well and nobody asked for more, as Kubernetes does.
func (c Config) ready(w http.ResponseWriter, r *http.Request, all []Status) {
	text, ready := report(all)
	_, verbose := r.URL.Query()["verbose"]
	switch {
	case !ready:
		answer(w, http.StatusInternalServerError, text+"readyz check failed\n")
	case len(all) == 0:
		answer(w, http.StatusOK, standby)
	case verbose:
		answer(w, http.StatusOK, text+"readyz check passed\n")
	default:
		answer(w, http.StatusOK, "ok\n")
	}
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // whoever asked may have gone
}
