package property

import (
	"context"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// adoptInMemorySession puts our collector into the session of vcsim's in-memory
// client (Service.RoundTrip). That session is one for the whole process and
// keeps the first collector it ever saw, which is vcsim's own as soon as a
// Model was created. It is reachable through the registry's call hook only, so
// one harmless call is made under a hook of ours.
//
// The collector put there finds its Service through the context of each call,
// and hands the call to vcsim's own where there is none: it serves every
// vCenter of the process, ours or not.
func adoptInMemorySession(ctx *simulator.Context, ref types.ManagedObjectReference) error {
	adopt := func(s *simulator.Session) {
		if s == nil || s.Registry == nil {
			return
		}
		if _, ours := s.Registry.Get(ref).(*PropertyCollector); ours {
			return
		}
		pc := new(PropertyCollector)
		pc.Self = ref
		s.Registry.Put(pc)
	}
	adopt(ctx.Session)

	service := simulator.ServiceFromContext(ctx)
	if service == nil {
		return nil
	}
	hook := ctx.Map.Handler
	defer func() { ctx.Map.Handler = hook }()
	ctx.Map.Handler = func(call *simulator.Context, _ *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		adopt(call.Session)
		return nil, nil
	}
	_, err := methods.CurrentTime(context.Background(), service, &types.CurrentTime{This: vim25.ServiceInstance})
	return err
}
