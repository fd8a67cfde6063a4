package supervisor

import (
	"context"
	"errors"

	sv "github.com/vsphere-sandbox/vsphere-sandbox/pkg/supervisor"
)

// with calls f with the running Supervisor.
func (p *Part) with(f func(*sv.Supervisor) error) error {
	s := p.Supervisor()
	if s == nil {
		return errors.New("the Supervisor does not run")
	}
	return f(s)
}

// SetOperator implements [fault.Supervisor].
func (p *Part) SetOperator(running bool) {
	if s := p.Supervisor(); s != nil {
		s.SetOperator(running)
	}
}

// SetPoolEmpty implements [fault.Supervisor].
func (p *Part) SetPoolEmpty(empty bool) {
	if s := p.Supervisor(); s != nil {
		s.SetPoolEmpty(empty)
	}
}

// Forbid implements [fault.Supervisor].
func (p *Part) Forbid(ctx context.Context) error {
	return p.with(func(s *sv.Supervisor) error { return s.Forbid(ctx) })
}

// Permit implements [fault.Supervisor].
func (p *Part) Permit(ctx context.Context) error {
	return p.with(func(s *sv.Supervisor) error { return s.Permit(ctx) })
}

// ExpireTokens implements [fault.Supervisor].
func (p *Part) ExpireTokens(ctx context.Context) error {
	return p.with(func(s *sv.Supervisor) error { return s.ExpireTokens(ctx) })
}

// RenewTokens implements [fault.Supervisor].
func (p *Part) RenewTokens(ctx context.Context) error {
	return p.with(func(s *sv.Supervisor) error { return s.RenewTokens(ctx) })
}

// RotateTokens implements [fault.Supervisor].
func (p *Part) RotateTokens(ctx context.Context) error {
	return p.with(func(s *sv.Supervisor) error { return s.RotateTokens(ctx) })
}

// HasMachine implements [fault.Supervisor].
func (p *Part) HasMachine(_ context.Context, name string) (found bool, err error) {
	err = p.with(func(s *sv.Supervisor) error {
		_, found = s.Machine(name)
		return nil
	})
	return found, err
}

// DeleteMachine implements [fault.Supervisor].
func (p *Part) DeleteMachine(ctx context.Context, name string) error {
	return p.with(func(s *sv.Supervisor) error { return s.DeleteMachine(ctx, name) })
}
