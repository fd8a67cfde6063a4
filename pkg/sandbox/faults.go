package sandbox

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// healTimeout bounds the healing at the stop. What is left broken after it ends with the sandbox.
const healTimeout = 20 * time.Second

// startFaults makes the engine, from which on things can be broken.
func (s *Sandbox) startFaults(context.Context) error { return s.startEngine(catalogue.Kinds()) }

func (s *Sandbox) startEngine(kinds []*fault.Kind) error {
	if err := s.openSecrets(); err != nil {
		return err
	}
	journal, err := fault.OpenJournal(s.opts.Dir.Path("leases.jsonl"))
	if err != nil {
		return err
	}
	e := fault.NewEngine(fault.Options{
		Ground: s.faultGround(), Kinds: kinds, Journal: journal, Sealer: s.secrets, Logger: s.opts.Logger,
		OnChange: s.leaseChanged,
	})
	s.mu.Lock()
	s.faults, s.leases = e, journal
	s.mu.Unlock()
	return nil
}

// healFaults puts right what is broken, before anything is stopped that it takes.
func (s *Sandbox) healFaults(ctx context.Context) error {
	e := s.engine()
	if e == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, healTimeout)
	defer cancel()
	return e.Close(ctx)
}

// stopFaults closes what [Sandbox.startFaults] has opened.
func (s *Sandbox) stopFaults(ctx context.Context) error {
	if s.leases == nil {
		return nil
	}
	_ = s.engine().Close(ctx) // told when it was closed first
	return s.leases.Close()
}

// engine returns what breaks and heals, nil as long as there is none.
func (s *Sandbox) engine() *fault.Engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults
}
