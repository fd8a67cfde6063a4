package access_test

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// empty is the access control of a vCenter without inventory and without a server.
func empty(t testing.TB, options access.Options, settings ...types.BaseOptionValue) *access.Manager {
	t.Helper()
	ctx := simulator.NewContext()
	simulator.New(simulator.NewServiceInstance(ctx, simulator.VPX().ServiceContent, simulator.VPX().RootFolder))
	m := ctx.Map.OptionManager()
	m.Setting = append(append([]types.BaseOptionValue(nil), m.Setting...), settings...)
	options.Administrator = admin
	a, err := access.New(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestIdleREST(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options access.Options
		setting types.AnyType
		lives   time.Duration // 0: for ever
	}{
		{"default", access.Options{}, nil, 30 * time.Minute},
		{"topology", access.Options{Sessions: topology.Sessions{Idle: topology.Duration(5 * time.Minute)}}, nil, 5 * time.Minute},
		{"option in minutes", access.Options{}, "90", 90 * time.Minute},
		{"option in vcsim's form", access.Options{}, "45s", 45 * time.Second},
		{"option that makes no sense", access.Options{}, "never", 30 * time.Minute},
		{"as vcsim", access.Options{Stock: stock.Set{stock.SessionIdle}}, "45s", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var settings []types.BaseOptionValue
				if tc.setting != nil {
					settings = append(settings, &types.OptionValue{Key: "config.vmacore.soap.sessionTimeout", Value: tc.setting})
				}
				m := empty(t, tc.options, settings...)
				defer m.Close()
				id, err := m.OpenREST("administrator")
				if err != nil {
					t.Fatal(err)
				}
				lives := tc.lives
				if lives == 0 {
					lives = 1000 * time.Hour
				}
				for range 3 { // each call puts the end off
					time.Sleep(lives - time.Second)
					if user, ok := m.TouchREST(id); !ok || user != admin {
						t.Fatalf("session is over, or of %q", user)
					}
				}
				time.Sleep(lives + time.Second)
				synctest.Wait()
				if n := len(m.Sessions()); (n == 0) != (tc.lives > 0) {
					t.Errorf("%d sessions left", n)
				}
				if _, ok := m.TouchREST(id); ok != (tc.lives == 0) {
					t.Errorf("session answers: %v", ok)
				}
			})
		})
	}
}

func TestREST(t *testing.T) {
	m := empty(t, access.Options{Stock: stock.Set{stock.SessionLimit}})
	defer m.Close()
	if _, err := m.OpenREST("nobody"); err == nil {
		t.Error("session of nobody")
	}
	for range 3000 { // more than a vCenter has
		if _, err := m.OpenREST(admin); err != nil {
			t.Fatal(err)
		}
	}
	id := m.Sessions()[0].Key
	m.CloseREST(id)
	m.CloseREST(id)
	m.CloseREST("unknown")
	if _, ok := m.TouchREST(id); ok {
		t.Error("session survives its end")
	}
	if n := m.EndAll(); n != 2999 {
		t.Errorf("%d sessions ended, want 2999", n)
	}
}

// One clock serves all sessions, and stops.
func TestGoroutines(t *testing.T) {
	m := empty(t, access.Options{})
	for range 100 {
		if _, err := m.OpenREST(admin); err != nil {
			t.Fatal(err)
		}
	}
	if n := clocks(t); n != 1 {
		t.Errorf("%d goroutines for 100 sessions, want 1", n)
	}
	m.Close()
	m.Close()
	// The clock's goroutine has said that it is done; it may take a moment to be gone.
	for deadline := time.Now().Add(patience); clocks(t) > 0 && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if n := clocks(t); n > 0 {
		t.Errorf("%d goroutines left", n)
	}
}

// clocks counts the goroutines that this package started. The count of all goroutines would not do: those of earlier tests
// may still be on their way out.
func clocks(t *testing.T) int {
	t.Helper()
	stacks := make([]byte, 1<<20)
	n := runtime.Stack(stacks, true)
	if n == len(stacks) {
		t.Fatal("the stacks of all goroutines are too long")
	}
	return strings.Count(string(stacks[:n]), "created by "+reflect.TypeFor[access.Manager]().PkgPath()+".")
}
