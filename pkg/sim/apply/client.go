package apply

import (
	"context"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// Client is how to reach a vCenter as somebody who may change everything. Each func calls its argument with a session
// that works, as long as ctx does; it may be called again while another call runs.
type Client interface {
	Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error
	DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error
}

// Sessions is a [Client] of two sessions that are logged in.
type Sessions struct {
	Vim  *vim25.Client
	REST *rest.Client
}

// Do implements [Client].
func (s Sessions) Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
	return f(ctx, s.Vim)
}

// DoREST implements [Client].
func (s Sessions) DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error {
	return f(ctx, s.REST)
}

type ref = types.ManagedObjectReference

// task waits for a task and returns what came of it.
func task[T any](ctx context.Context, c *vim25.Client, started T, id func(T) ref, err error) (types.AnyType, error) {
	if err != nil {
		return nil, err
	}
	info, err := object.NewTask(c, id(started)).WaitForResult(ctx, nil)
	if err != nil {
		return nil, err
	}
	return info.Result, nil
}

// wait waits for a task of govmomi's object package.
func wait(ctx context.Context, t *object.Task, err error) error {
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}
