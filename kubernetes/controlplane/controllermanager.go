package controlplane

import (
	"context"
	"path/filepath"
	"strconv"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/pkg/controller/volume/attachdetach"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

func controllerManagerSettings(cfg contract.ControlPlane) (settings, error) {
	pki := func(name string) string { return filepath.Join(cfg.PKI, name) }
	s := settings{
		"kubeconfig":                       pki("controller-manager.kubeconfig"),
		"authentication-kubeconfig":        pki("controller-manager.kubeconfig"),
		"authorization-kubeconfig":         pki("controller-manager.kubeconfig"),
		"root-ca-file":                     pki("ca.crt"),
		"service-account-private-key-file": pki("sa.key"),
		"cluster-signing-cert-file":        pki("ca.crt"),
		"cluster-signing-key-file":         pki("ca.key"),
		"use-service-account-credentials":  "true",
		"cluster-name":                     "vsphere-sandbox",

		"cloud-provider":              "external",
		"allocate-node-cidrs":         "true",
		"cluster-cidr":                cfg.PodCIDR,
		"service-cluster-ip-range":    cfg.ServiceCIDR,
		"leader-elect":                "false",
		"bind-address":                "127.0.0.1",
		"secure-port":                 "0", // the listener is inherited
		"tls-cert-file":               pki("apiserver.crt"),
		"tls-private-key-file":        pki("apiserver.key"),
		"node-eviction-rate":          strconv.FormatFloat(cfg.Speed.EvictionRate(), 'f', -1, 64),
		"concurrent-gc-syncs":         "5",
		"controller-start-interval":   "0s",
		"kube-api-qps":                "100",
		"kube-api-burst":              "200",
		"terminated-pod-gc-threshold": "1000",
	}
	s.duration("node-monitor-period", cfg.Speed.Of(pace.NodeMonitorPeriod))
	s.duration("node-monitor-grace-period", cfg.Speed.Of(pace.NodeMonitorGracePeriod))
	s.duration("node-startup-grace-period", cfg.Speed.Of(pace.NodeStartupGracePeriod))
	s.duration("attach-detach-reconcile-sync-period", cfg.Speed.Of(pace.AttachDetachSync))
	s.duration("pvclaimbinder-sync-period", cfg.Speed.Of(pace.PVClaimBinderSync))
	return s, s.setKnobs(controllerManager, cfg.Knobs)
}

func runControllerManager(ctx context.Context, cfg contract.ControlPlane) error {
	// These two have no flag. The process has only one controller manager, so setting the package variable is safe.
	attachdetach.DefaultTimerConfig.ReconcilerMaxWaitForUnmountDuration = cfg.Speed.Of(pace.AttachDetachMaxWaitForUnmount)
	attachdetach.DefaultTimerConfig.DesiredStateOfWorldPopulatorLoopSleepPeriod = cfg.Speed.Of(pace.AttachDetachPopulator)

	s, err := controllerManagerSettings(cfg)
	if err != nil {
		return err
	}
	opts, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	sets := opts.Flags(known, disabled, aliases)
	opts.ParsedFlags = &sets
	if err := s.apply(controllerManager, sets); err != nil {
		return err
	}
	if opts.SecureServing.Listener, err = inherited(cfg.ControllerManagerFD); err != nil {
		return err
	}
	c, err := opts.Config(ctx, known, disabled, aliases)
	if err != nil {
		return err
	}
	if err := fixServing(c.SecureServing); err != nil {
		return err
	}
	return app.Run(ctx, c.Complete())
}
