package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/controllers"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// Run is the cloud controller manager with this provider. It takes the command line of any cloud controller manager (args
// without the program's name). It returns when ctx has ended and every session is logged out, or with the error that
// prevented the start. It logs to stderr through klog, and prints --help and --version to stdout. A process can call Run
// once at a time, because the controllers keep process-wide registries. When Run loses the leader election, the process
// exits, as every cloud controller manager does.
//
// Its own flags are in the first section of --help. From the environment it reads upstream's VSPHERE_… variables (see
// package config), and POD_NAME, POD_NAMESPACE and POD_UID: the Pod that events about the configuration refer to.
func Run(ctx context.Context, args []string) error {
	cmd, err := parse(args)
	switch {
	case err != nil:
		return err
	case cmd.help:
		cmd.printHelp(os.Stdout)
		return nil
	case cmd.version:
		printVersion(os.Stdout)
		return nil
	}
	cloudConfig, err := cmd.cloudConfig(os.Environ())
	if err != nil {
		return err
	}
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := logsapi.ValidateAndApply(cmd.logs, utilfeature.DefaultFeatureGate); err != nil {
		return fmt.Errorf("ccm: logging flags: %w", err)
	}
	c, err := cmd.ccm.Config(controllers.Names(), app.ControllersDisabledByDefault.List(),
		names.CCMControllerAliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks)
	switch {
	case clientcmd.IsEmptyConfig(err):
		return errors.New("ccm: no API server: not in a pod, and --kubeconfig is missing")
	case err != nil:
		return fmt.Errorf("ccm: %w", err)
	}
	log := slog.New(logr.ToSlogHandler(klog.Background()))
	nudges := &controllers.Nudges{}
	cmd.provider.Logger, cmd.provider.Nudge, cmd.provider.Registry = log, nudges, metrics.Process()
	cloud, err := New(cloudConfig, cmd.provider)
	if err != nil {
		return err
	}
	stopHealth, err := cmd.serveHealth(ctx, cloud, log)
	if err != nil {
		return err
	}
	defer stopHealth()
	complete := c.Complete()
	initializers := controllers.Initializers(complete, cloud, nudges, controllers.Options{RelabelZones: cmd.relabelZones, Logger: log})
	err = app.Run(complete, cloud, initializers, map[string]app.WebhookHandler{}, ctx.Done())
	// With leader election, the context given to Initialize outlives ctx.
	cloud.Close()
	cloud.Wait()
	if err != nil {
		return fmt.Errorf("ccm: %w", err)
	}
	return nil
}

// serveHealth serves the probes and the metrics, if they have an address, until stop is called.
func (c *command) serveHealth(ctx context.Context, cloud *Provider, log *slog.Logger) (stop func(), err error) {
	if c.healthAddress == "" {
		return func() {}, nil
	}
	server, err := health.Listen(ctx, health.Config{
		Address: c.healthAddress, Source: cloud.health, Metrics: legacyregistry.Handler(), Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("ccm: --health-address: %w", err)
	}
	// The probes are served until the last session has ended.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Run(ctx); err != nil {
			log.Error("health server ended", "err", err)
		}
	}()
	return func() {
		cancel()
		<-done
	}, nil
}

// cloudConfig reads the configuration from the file, else from the environment, and sets the provider's options for it.
func (c *command) cloudConfig(environ []string) (*config.Config, error) {
	o := &c.provider
	o.Pod = podOf(environ)
	defaultSecrets := config.WithDefaultSecrets(config.DefaultSecretsDirectory)
	if o.ConfigFile = c.ccm.KubeCloudShared.CloudProvider.CloudConfigFile; o.ConfigFile != "" {
		o.ConfigOptions = []config.Option{config.WithEnvironment(environ), defaultSecrets}
		return config.LoadFile(o.ConfigFile, o.ConfigOptions...)
	}
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); value != "" && strings.HasPrefix(name, "VSPHERE_VCENTER") {
			return config.LoadEnvironment(environ, defaultSecrets)
		}
	}
	return nil, errors.New("ccm: no vCenter: --cloud-config is missing, and neither VSPHERE_VCENTER nor VSPHERE_VCENTER_<id> is set")
}

func podOf(environ []string) Pod {
	var p Pod
	for _, v := range environ {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "POD_NAME":
			p.Name = value
		case "POD_NAMESPACE":
			p.Namespace = value
		case "POD_UID":
			p.UID = value
		}
	}
	return p
}
