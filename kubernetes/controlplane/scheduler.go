package controlplane

import (
	"context"
	"path/filepath"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

func schedulerSettings(cfg contract.ControlPlane) settings {
	kubeconfig := filepath.Join(cfg.PKI, "scheduler.kubeconfig")
	return settings{
		"kubeconfig":                kubeconfig,
		"authentication-kubeconfig": kubeconfig,
		"authorization-kubeconfig":  kubeconfig,
		"leader-elect":              "false",
		"bind-address":              "127.0.0.1",
		"secure-port":               "0", // it has no clients
	}
}

func runScheduler(ctx context.Context, cfg contract.ControlPlane) error {
	opts := options.NewOptions()
	if err := schedulerSettings(cfg).apply("kube-scheduler", *opts.Flags); err != nil {
		return err
	}
	c, scheduler, err := app.Setup(ctx, opts)
	if err != nil {
		return err
	}
	return app.Run(ctx, c, scheduler)
}
