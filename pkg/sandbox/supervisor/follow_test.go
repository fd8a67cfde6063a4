package supervisor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// rows counts how often they are set.
type rows struct{ machines, services int }

func (r *rows) SetVirtualMachines([]api.VirtualMachine)               { r.machines++ }
func (r *rows) SetVirtualMachineServices([]api.VirtualMachineService) { r.services++ }

// Changes that come together set the rows once, a later one sets them again, and at rest nothing is read.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got rows
		p := &Part{Rows: &got}
		ctx, end := context.WithCancel(t.Context())
		p.following.Go(func() { p.follow(ctx) })
		p.Changed()
		p.Changed()
		settled := func() {
			for range 3 {
				synctest.Wait()
				time.Sleep(settle)
			}
		}
		settled()
		if want := (rows{1, 1}); got != want {
			t.Errorf("after two changes at once: set %+v, want %+v", got, want)
		}
		p.Changed()
		settled()
		if want := (rows{2, 2}); got != want {
			t.Errorf("after another: set %+v, want %+v", got, want)
		}
		end()
		p.following.Wait()
	})
}
