package vcenterconfig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// ended is a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestExplain(t *testing.T) {
	denied := soap.WrapVimFault(&types.NoPermission{PrivilegeId: "System.Read"})
	for _, tc := range []struct {
		name string
		ctx  context.Context
		err  error
		code string
		exit int
	}{
		{"nothing", t.Context(), nil, "", 0},
		{"cut off", ended(), errors.New("x"), "interrupted", 130},
		{"told already", t.Context(), &report.Error{Code: "mine"}, "mine", 1},
		{"untrusted", t.Context(), fmt.Errorf("x: %w", &vcenter.UntrustedError{Err: client.ErrCertificate, Try: "pin it"}), "vcenter-untrusted", 1},
		{"certificate", t.Context(), fmt.Errorf("x: %w", client.ErrCertificate), "vcenter-untrusted", 1},
		{"login", t.Context(), fmt.Errorf("x: %w", client.ErrInvalidLogin), "vcenter-login-refused", 1},
		{"write", t.Context(), fmt.Errorf("x: %w", scope.ErrRefused), "write-refused", 1},
		{"permission", t.Context(), fmt.Errorf("x: %w", denied), "vcenter-no-permission", 1},
		{"network", t.Context(), fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), "vcenter-unreachable", 1},
		{"late", t.Context(), fmt.Errorf("x: %w", context.DeadlineExceeded), "vcenter-unreachable", 1},
		{"other", t.Context(), errors.New("x"), "failed", 1},
	} {
		got := report.Of(Explain(tc.ctx, tc.err))
		if got.Code != tc.code || got.Exit != tc.exit {
			t.Errorf("%s: %+v, want %s, %d", tc.name, got, tc.code, tc.exit)
		}
		if strings.HasPrefix(tc.code, "vcenter-") && got.Try == "" {
			t.Errorf("%s: nothing to try", tc.name)
		}
	}
}

// TestConnect logs in everywhere or nowhere.
func TestConnect(t *testing.T) {
	config, err := vcenter.LoadFile(sim.Start(t, `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: two}
spec:
  vcenters:
    - {name: a, datacenters: [{name: dc, hosts: [{name: h1}]}]}
    - {name: b, datacenters: [{name: dc, hosts: [{name: h2}]}]}
`).CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	all, done, err := Connect(t.Context(), config)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d, %v", len(all), err)
	}
	done()
	config.VCenters[1].CAFile = ""
	all, done, err = Connect(t.Context(), config)
	if r := report.Of(err); r.Code != "vcenter-untrusted" || all != nil || done != nil || strings.Contains(r.Message, r.Try) {
		t.Errorf("%v, %+v", all, r)
	}
}
