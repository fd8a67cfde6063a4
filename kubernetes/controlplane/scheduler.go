package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

func schedulerSettings(cfg contract.ControlPlane) (settings, error) {
	pki := func(name string) string { return filepath.Join(cfg.PKI, name) }
	kubeconfig := pki("scheduler.kubeconfig")
	s := settings{
		"kubeconfig":                kubeconfig,
		"authentication-kubeconfig": kubeconfig,
		"authorization-kubeconfig":  kubeconfig,
		"leader-elect":              "false",
		"bind-address":              "127.0.0.1",
		"secure-port":               "0", // the listener is inherited
		"tls-cert-file":             pki("apiserver.crt"),
		"tls-private-key-file":      pki("apiserver.key"),
	}
	return s, s.setKnobs(scheduler, cfg.Knobs)
}

func runScheduler(ctx context.Context, cfg contract.ControlPlane) error {
	s, err := schedulerSettings(cfg)
	if err != nil {
		return err
	}
	opts := options.NewOptions()
	if err := s.apply(scheduler, *opts.Flags); err != nil {
		return err
	}
	if cfg.Knobs.SchedulerConfig != "" {
		text, err := schedulerConfig(cfg)
		if err != nil {
			return err
		}
		opts.ConfigFile = filepath.Join(filepath.Dir(cfg.Tuning), "scheduler-config.yaml")
		if err := os.WriteFile(opts.ConfigFile, text, 0o600); err != nil {
			return err
		}
	}
	if opts.SecureServing.Listener, err = inherited(cfg.SchedulerFD); err != nil {
		return err
	}
	c, scheduler, err := app.Setup(ctx, opts)
	if err != nil {
		return err
	}
	if err := fixServing(c.SecureServing); err != nil {
		return err
	}
	return app.Run(ctx, c, scheduler)
}

// schedulerConfig returns the user's KubeSchedulerConfiguration with the sandbox's kubeconfig, which a scheduler with a file
// takes from that alone.
func schedulerConfig(cfg contract.ControlPlane) ([]byte, error) {
	path := cfg.Knobs.SchedulerConfig
	if _, err := options.LoadConfigFromFile(klog.Background(), path); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	connection, _ := config["clientConnection"].(map[string]any)
	if connection == nil {
		connection = map[string]any{}
	}
	if connection["kubeconfig"] != nil {
		return nil, fmt.Errorf("%s: clientConnection.kubeconfig: the sandbox sets it itself", path)
	}
	connection["kubeconfig"] = filepath.Join(cfg.PKI, "scheduler.kubeconfig")
	config["clientConnection"] = connection
	config["leaderElection"] = map[string]any{"leaderElect": false}
	return yaml.Marshal(config)
}
