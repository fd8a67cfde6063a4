package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // its metrics are in the registry
	_ "k8s.io/component-base/metrics/prometheus/workqueue"               // these, too
	"k8s.io/klog/v2"
)

// listen serves metrics and the handlers of mux at --http-endpoint, if set, until stop is called.
func (w *dependencies) listen(mux *http.ServeMux, b *sidecarControllers, end context.CancelCauseFunc) (stop func(), err error) {
	if w.httpEndpoint == "" {
		return func() {}, nil
	}
	gatherers := append(prometheus.Gatherers{legacyregistry.DefaultGatherer}, b.metrics...)
	if w.driver != nil {
		gatherers = append(gatherers, w.driver.metrics.GetRegistry())
	}
	mux.Handle(w.metricsPath, promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{}))
	l, err := net.Listen("tcp", w.httpEndpoint)
	if err != nil {
		return nil, fmt.Errorf("--http-endpoint=%s: %w", w.httpEndpoint, err)
	}
	klog.InfoS("Serving metrics", "address", l.Addr().String(), "path", w.metricsPath)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			end(fmt.Errorf("--http-endpoint=%s: %w", w.httpEndpoint, err))
		}
	}()
	return func() { _ = server.Close() }, nil
}
