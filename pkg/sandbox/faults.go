package sandbox

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// startFaults makes the engine, from which on things can be broken.
func (s *Sandbox) startFaults(context.Context) error { return s.startEngine(catalogue.Kinds()) }

func (s *Sandbox) startEngine(kinds []*fault.Kind) error {
	if err := s.openSecrets(); err != nil {
		return err
	}
	return s.faults.Start(s.opts.Dir.Path("leases.jsonl"), fault.Options{
		Ground: s.faultGround(), Kinds: kinds, Sealer: s.secrets, Logger: s.opts.Logger, OnChange: s.leaseChanged,
	})
}

// lacks says why a kind cannot be injected here, whatever it happens to: what is known from the beginning. "" is for the rest,
// of which the injection tells.
func (s *Sandbox) lacks(k *fault.Kind) string {
	if why := s.refuses(k); why != "" {
		return why
	}
	return s.source.Lacks(k)
}

// mayInject returns why a request is refused or must be confirmed.
func (s *Sandbox) mayInject(ctx context.Context, e *fault.Engine, r fault.Request, confirmed bool) error {
	if k, err := fault.Find(catalogue.Kinds(), r.Kind); err == nil {
		if why := s.refuses(k); why != "" {
			return &api.Error{Code: "unsupported", Message: k.Name + ": " + why, Try: "vsphere-sandbox record, then up with the recording"}
		}
	}
	return s.source.AllowFault(ctx, e, r, confirmed)
}

// refuses says why the ground has a kind of fault not made, "" where it may be.
func (s *Sandbox) refuses(k *fault.Kind) string {
	if g, ok := s.sourced(); ok {
		return g.Lacks(k)
	}
	return ""
}
