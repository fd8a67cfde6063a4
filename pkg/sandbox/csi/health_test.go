package csi

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// fakeIdentity is a CSI driver that may be another one than is wanted.
type fakeIdentity struct {
	csiapi.UnimplementedIdentityServer
	name       string
	controller bool
	ready      *wrapperspb.BoolValue
	hangs      chan struct{} // if not nil, it does not answer until this is closed
}

func (f *fakeIdentity) GetPluginInfo(context.Context, *csiapi.GetPluginInfoRequest) (*csiapi.GetPluginInfoResponse, error) {
	if f.hangs != nil {
		<-f.hangs
	}
	return &csiapi.GetPluginInfoResponse{Name: f.name, VendorVersion: "v9"}, nil
}

func (f *fakeIdentity) GetPluginCapabilities(context.Context, *csiapi.GetPluginCapabilitiesRequest) (*csiapi.GetPluginCapabilitiesResponse, error) {
	r := &csiapi.GetPluginCapabilitiesResponse{}
	if f.controller {
		r.Capabilities = []*csiapi.PluginCapability{{Type: &csiapi.PluginCapability_Service_{Service: &csiapi.PluginCapability_Service{
			Type: csiapi.PluginCapability_Service_CONTROLLER_SERVICE,
		}}}}
	}
	return r, nil
}

func (f *fakeIdentity) Probe(context.Context, *csiapi.ProbeRequest) (*csiapi.ProbeResponse, error) {
	return &csiapi.ProbeResponse{Ready: f.ready}, nil
}

// A driver that cannot be used says why; what time does not mend is final.
func TestAsk(t *testing.T) {
	for name, tc := range map[string]struct {
		driver *fakeIdentity // nil: a gRPC server without CSI
		none   bool
		final  bool
		want   string // "" for none
	}{
		"healthy":           {driver: &fakeIdentity{name: names.Driver, controller: true}},
		"healthy, and said": {driver: &fakeIdentity{name: names.Driver, controller: true, ready: wrapperspb.Bool(true)}},
		"not ready":         {driver: &fakeIdentity{name: names.Driver, controller: true, ready: wrapperspb.Bool(false)}, want: "is not ready"},
		"another driver":    {driver: &fakeIdentity{name: "hostpath.csi.k8s.io", controller: true}, final: true, want: `is CSI driver "hostpath.csi.k8s.io"`},
		"node mode":         {driver: &fakeIdentity{name: names.Driver}, final: true, want: "has no controller service"},
		"another CSI":       {final: true, want: "does not speak CSI 1.x"},
		"no listener":       {none: true, want: "does not listen on its socket"},
		"hangs":             {driver: &fakeIdentity{hangs: make(chan struct{})}, want: "does not answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "csi") // a path that is short, for the socket
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			socket := filepath.Join(dir, "s")
			if !tc.none {
				l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
				if err != nil {
					t.Fatal(err)
				}
				s := grpc.NewServer()
				if tc.driver != nil {
					csiapi.RegisterIdentityServer(s, tc.driver)
				}
				go func() { _ = s.Serve(l) }()
				t.Cleanup(s.Stop)
			}
			patience := 10 * time.Second
			if tc.driver != nil && tc.driver.hangs != nil {
				patience = 50 * time.Millisecond
				t.Cleanup(func() { close(tc.driver.hangs) })
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			version, final, err := ask(ctx, socket)
			if tc.want == "" {
				if err != nil || version != "v9" {
					t.Errorf("%q, %v", version, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || final != tc.final {
				t.Errorf("%v, final %t, want %q", err, final, tc.want)
			}
		})
	}
}
