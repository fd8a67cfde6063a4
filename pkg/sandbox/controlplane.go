package sandbox

import (
	"context"
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
)

func (s *Sandbox) startControlPlane(context.Context) error {
	cluster, err := embedded.New(embedded.Options{
		Name:  s.opts.Name,
		Dir:   s.opts.Dir.Path(),
		Speed: s.opts.Speed,
		Port:  s.opts.Port,
		Audit: s.opts.Audit,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.cluster, s.embedded = cluster, cluster
	s.mu.Unlock()
	started := child.Start(s.components.Spec(cluster.Spec("control-plane")), s.components.Notify)
	s.mu.Lock()
	s.controlPlane = started
	s.mu.Unlock()
	return nil
}

func (s *Sandbox) waitControlPlane(ctx context.Context) error {
	return s.embedded.WaitReady(ctx, s.detail)
}

func (s *Sandbox) stopControlPlane(ctx context.Context) error {
	var errs []error
	if s.controlPlane != nil {
		errs = append(errs, s.controlPlane.Stop(ctx))
	}
	errs = append(errs, s.proxies.Close())
	if s.embedded != nil {
		errs = append(errs, s.embedded.Close())
	}
	return errors.Join(errs...)
}
