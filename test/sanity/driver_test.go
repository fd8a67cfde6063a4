package sanity

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/controller"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/identity"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/rpc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// logger writes to the test's log.
func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// serve is serveOn with a controller over a store and nodes.
func serve(t *testing.T, store volume.Store, nodes volume.Nodes, on node.Options) *grpc.ClientConn {
	t.Helper()
	return serveOn(t, controller.New(controller.Config{Store: store, Nodes: nodes, Logger: logger(t)}), on)
}

// serveOn runs a controller and the service of one node on one socket until the test ends, and returns a connection to it.
func serveOn(t *testing.T, c csi.ControllerServer, on node.Options) *grpc.ClientConn {
	t.Helper()
	log := logger(t)
	on.Logger = log
	n, err := node.New(on)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "unix://" + filepath.Join(t.TempDir(), "csi.sock")
	s, err := rpc.Listen(t.Context(), rpc.Config{Endpoint: endpoint, Logger: log, Register: func(r grpc.ServiceRegistrar) {
		csi.RegisterIdentityServer(r, &identity.Server{})
		csi.RegisterControllerServer(r, c)
		csi.RegisterNodeServer(r, n)
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
