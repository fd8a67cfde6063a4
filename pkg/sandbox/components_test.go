package sandbox

import (
	"context"
	"errors"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// pid1 is beyond the highest pid there is.
const pid1 = 1<<22 + 1

// bootWith returns the error of a boot whose only step calls f.
func bootWith(t *testing.T, s *Sandbox, f func(ctx context.Context)) error {
	t.Helper()
	_, err := s.boot.Start(t.Context(), []step{{Name: "boot", Start: func(ctx context.Context) error {
		f(ctx)
		return ctx.Err()
	}}})
	return err
}

func TestThirdCrashEndsABoot(t *testing.T) {
	s := newSandbox(t, "single")
	err := bootWith(t, s, func(ctx context.Context) {
		for n := range 3 {
			if ctx.Err() != nil {
				t.Errorf("%d crashes ended the boot", n)
			}
			s.components.Notify(child.Change{Name: "ccm", State: child.Started, PID: pid1})
			s.components.Notify(child.Change{Name: "ccm", State: child.Exited, PID: pid1, Err: errors.New("ccm: exit status 1")})
			s.components.Notify(child.Change{Name: "ccm", State: child.Restarting})
		}
	})
	if err == nil || err.Error() != "boot: ccm: exit status 1" {
		t.Errorf("got %v", err)
	}
}

// A child that cannot be started is not tried again.
func TestFailureToStartEndsABoot(t *testing.T) {
	s := newSandbox(t, "single")
	err := bootWith(t, s, func(context.Context) {
		s.components.Notify(child.Change{Name: "ccm", State: child.Exited, Err: errors.New("ccm: no such file")})
	})
	if err == nil || err.Error() != "boot: ccm: no such file" {
		t.Errorf("got %v", err)
	}
}
