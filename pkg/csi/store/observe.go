package store

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// observed has OnCall told of the calls that pass through next.
func (c *conn) observed(next soap.RoundTripper) soap.RoundTripper {
	if c.opts.OnCall == nil {
		return next
	}
	return observer{next, c}
}

type observer struct {
	next soap.RoundTripper
	conn *conn
}

// RoundTrip implements [soap.RoundTripper].
func (o observer) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	began := time.Now()
	err := o.next.RoundTrip(ctx, req, res)
	method := strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Body")
	o.conn.opts.OnCall(o.conn.name(), vcenter.Call{Method: method, Result: callResult(ctx, err), Duration: time.Since(began)})
	return err
}

// callResult is in the words of [vcenter.Call].
func callResult(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return "ok"
	case soap.IsSoapFault(err):
		return "error"
	case errors.Is(ctx.Err(), context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "unreachable"
}
