package fault_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// TestTurn: targets that are changed side by side take turns where they ask for it.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLamps("a", "b", "c")
		steps := fault.Steps[struct{}]{
			Plan: func(context.Context, *fault.Call) (none struct{}, _ string, _ error) { return none, "dust", nil },
			Apply: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
				end, err := c.Lock(ctx, "ladder "+c.Target.Zone)
				if err != nil {
					return err
				}
				defer end()
				time.Sleep(time.Second)
				return nil
			},
		}
		kind := fault.New(fault.Kind{Name: "lamp.dusted", Object: fault.VM, Momentary: true}, steps)
		e := fault.NewEngine(fault.Options{Ground: &fault.Ground{Items: l.items}, Kinds: []*fault.Kind{kind}})
		defer func() { _ = e.Close(t.Context()) }()
		for _, c := range []struct {
			names []string
			takes time.Duration
		}{{[]string{"a", "b"}, time.Second}, {[]string{"a", "c"}, 2 * time.Second}} {
			begin := time.Now()
			_, err := e.Inject(t.Context(), fault.Request{Kind: "lamp.dusted", On: on(c.names...)})
			if d := time.Since(begin); err != nil || d != c.takes {
				t.Errorf("%v: took %s, want %s; %v", c.names, d, c.takes, err)
			}
		}
		// A call that waits for a turn can be canceled.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := e.Inject(ctx, fault.Request{Kind: "lamp.dusted", On: on("a", "c")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}
