package csi

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/identity"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/metrics"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/rpc"
	providerconfig "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	providermetrics "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// runController is the controller mode.
func (c *command) runController(ctx context.Context, log *slog.Logger) error {
	k, err := connect(c.kubeconfig)
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	reading, err := c.controller.reading(ctx, k, c.environ)
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	var engine atomic.Pointer[Engine] // that metrics ask, from the moment there is one
	status := func() []health.Status {
		if e := engine.Load(); e != nil {
			return e.Status(ctx)
		}
		return nil
	}
	m, err := metrics.New(providermetrics.Process(), func() []metrics.VCenter { return measures(status()) })
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	e, err := NewEngine(ctx, Options{
		Config: config.Options{
			Reading: reading, File: c.controller.config, Period: c.controller.configPeriod,
			UserAgent: UserAgent, CallTimeout: c.controller.callTimeout, MaxWait: c.controller.maxWait,
		},
		Kubernetes: k, TagRefresh: c.controller.tagRefresh, Metrics: m, Logger: log,
	})
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	engine.Store(e)
	defer e.Close()
	stopHealth, err := serveHealth(ctx, c.metricsAddress, status, log)
	if err != nil {
		return err
	}
	defer stopHealth()
	s, err := rpc.Listen(ctx, rpc.Config{
		Endpoint: c.endpoint, Timeout: c.timeout, Observe: m.Call, Logger: log,
		Register: func(r grpc.ServiceRegistrar) {
			csiapi.RegisterIdentityServer(r, &identity.Server{Version: version(), Ready: func() error { return e.Ready(ctx) }})
			csiapi.RegisterControllerServer(r, e.Controller)
		},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	log.Info("serving", "endpoint", c.endpoint)
	return s.Run(ctx)
}

// UserAgent is what the controller says it is at vCenters.
const UserAgent = "vsphere-csi-controller"

// reading is how the configuration file is read. Where neither the file nor the command line says which cluster this is,
// the cluster is asked.
func (f *controllerFlags) reading(ctx context.Context, k *Kubernetes, environ []string) (config.Reading, error) {
	r := config.Reading{ClusterID: f.clusterID, Environment: environ, DefaultSecrets: providerconfig.DefaultSecretsDirectory}
	if _, err := config.LoadFile(f.config, r); err == nil || r.ClusterID != "" {
		return r, err
	}
	probe := r
	probe.ClusterID = "any"
	if _, err := config.LoadFile(f.config, probe); err != nil {
		return r, err // a cluster id is not all that it lacks
	}
	var err error
	r.ClusterID, err = k.clusterUID(ctx)
	return r, err
}

// serveHealth serves the probes and the metrics at their address, if there is one, until stop is called.
func serveHealth(ctx context.Context, address string, status func() []health.Status, log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	s, err := health.Listen(ctx, health.Config{Address: address, Source: status, Metrics: legacyregistry.Handler(), Logger: log})
	if err != nil {
		return nil, fmt.Errorf("csi: --metrics-address: %w", err)
	}
	return background(ctx, log, "health server", s.Run), nil
}
