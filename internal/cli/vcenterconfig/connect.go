package vcenterconfig

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// UserAgent is what the program calls itself at vCenters, whose list of sessions shows it.
func UserAgent() string { return "vsphere-sandbox/" + build.Version() }

// Connect logs in at every vCenter; close logs out of all of them and is nil with an error, which is that of the first
// vCenter that refuses, and is of package report.
func Connect(ctx context.Context, c *vcenter.Config) (all []*vcenter.Connection, done func(), err error) {
	done = func() {
		for _, one := range all {
			one.Close()
		}
	}
	for _, v := range c.VCenters {
		one, err := v.Connect(ctx, vcenter.Options{UserAgent: UserAgent()})
		if err != nil {
			done()
			return nil, nil, Explain(ctx, err)
		}
		all = append(all, one)
	}
	return all, done, nil
}

// Explain gives what a real vCenter answers, or does not, a code and advice. Other errors, and nil, are returned as they
// are.
func Explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err() // what is cut off says nothing of the vCenter
	}
	if own := (*report.Error)(nil); errors.As(err, &own) {
		return err
	}
	if untrusted, ok := errors.AsType[*vcenter.UntrustedError](err); ok {
		return &report.Error{Code: "vcenter-untrusted", Message: strings.TrimSuffix(untrusted.Error(), ": "+untrusted.Try), Try: untrusted.Try}
	}
	e := &report.Error{Message: err.Error()}
	switch {
	case errors.Is(err, client.ErrCertificate):
		e.Code, e.Try = "vcenter-untrusted", "vsphere-sandbox doctor --vcenter-config FILE"
	case errors.Is(err, client.ErrInvalidLogin), errors.Is(err, client.ErrNoCredentials):
		e.Code, e.Try = "vcenter-login-refused", "check user and password; a user is written with its domain, such as cpi@vsphere.local"
	case errors.Is(err, scope.ErrRefused):
		e.Code, e.Try = "write-refused", "--allow-writes --write-folder FOLDER\n--allow-writes --write-tag CATEGORY:TAG"
	case fault.Is(err, &types.NoPermission{}):
		e.Code, e.Try = "vcenter-no-permission", "grant the account ReadOnly on the datacenters, propagating\nvsphere-sandbox doctor --vcenter-config FILE"
	case unreachable(err):
		e.Code, e.Try = "vcenter-unreachable", "check server and port, name resolution and firewalls on the way\nvsphere-sandbox doctor --vcenter-config FILE"
	default:
		return err
	}
	return e
}

// unreachable tells whether err is of the way to a vCenter, or of one that does not answer in time.
func unreachable(err error) bool {
	_, network := errors.AsType[net.Error](err)
	_, address := errors.AsType[*url.Error](err)
	return network || address || errors.Is(err, context.DeadlineExceeded)
}
