package fault_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// What was given up has not been done, though the step says nothing of it, as govmomi does.
func TestGivenUp(t *testing.T) {
	l := newLamps("a")
	cancel := func() {}
	reverted := make(chan struct{}, 10)
	kind := fault.New(fault.Kind{Name: "lamp.swung", Object: fault.VM}, fault.Steps[struct{}]{
		Plan:  func(context.Context, *fault.Call) (none struct{}, _ string, _ error) { return none, "swing", nil },
		Apply: func(context.Context, *fault.Call, *struct{}) error { cancel(); return nil },
		Revert: func(context.Context, *fault.Call, *struct{}) error {
			cancel()
			reverted <- struct{}{}
			return nil
		},
	})
	e := fault.NewEngine(fault.Options{Ground: &fault.Ground{Items: l.items}, Kinds: []*fault.Kind{kind}, Retry: time.Millisecond})
	defer func() { cancel(); _ = e.Close(t.Context()) }()
	ctx, giveUp := context.WithCancel(t.Context())
	cancel = giveUp
	lease, err := e.Inject(ctx, fault.Request{Kind: "lamp.swung", On: on("a")})
	if !errors.Is(err, context.Canceled) || lease.State != fault.Healed || len(reverted) != 1 {
		t.Errorf("injected: %+v, %v, reverted %d times", lease, err, len(reverted))
	}
	<-reverted
	cancel = func() {}
	if lease, err = e.Inject(t.Context(), fault.Request{Kind: "lamp.swung", On: on("a")}); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp = context.WithCancel(t.Context())
	cancel = giveUp
	if healed, err := e.Heal(ctx, lease.ID); !errors.Is(err, context.Canceled) || healed[0].State != fault.Failed {
		t.Errorf("healed: %+v, %v", healed, err)
	}
	<-reverted
	<-reverted // again, without a call
}
