package node_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
)

// shortDir returns a directory with a path that is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") // a path that is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func dial(t *testing.T, socket string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Kubelet finds the driver by the registration socket, calls GetInfo, and reports success.
func TestPlugin(t *testing.T) {
	dir := shortDir(t)
	at := node.Sockets{CSI: filepath.Join(dir, "plugins", "csi.sock"), Registration: filepath.Join(dir, "plugins_registry", "reg.sock"), Version: "v1"}
	for _, socket := range []string{at.CSI, at.Registration} { // left by a process that was killed
		if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	p, err := node.Listen(t.Context(), node.Options{NodeID: nodeID, Backend: &scripted{}}, at)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()

	reg := registerapi.NewRegistrationClient(dial(t, at.Registration))
	info, err := reg.GetInfo(ctx, &registerapi.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	if info.Type != registerapi.CSIPlugin || info.Name != names.Driver || info.Endpoint != at.CSI {
		t.Errorf("%v", info)
	}
	driver := dial(t, info.Endpoint)
	who, err := csi.NewIdentityClient(driver).GetPluginInfo(ctx, &csi.GetPluginInfoRequest{}, grpc.WaitForReady(true))
	if err != nil || who.GetName() != names.Driver || who.GetVendorVersion() != "v1" {
		t.Errorf("%v %v", who, err)
	}
	if r, err := csi.NewNodeClient(driver).NodeGetInfo(ctx, &csi.NodeGetInfoRequest{}); err != nil || r.GetNodeId() != nodeID {
		t.Errorf("%v %v", r, err)
	}
	if _, err := reg.NotifyRegistrationStatus(ctx, &registerapi.RegistrationStatus{PluginRegistered: true}); err != nil {
		t.Error(err)
	}

	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, socket := range []string{at.CSI, at.Registration} {
		if _, err := os.Lstat(socket); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", socket, err)
		}
	}
}

func TestListenFails(t *testing.T) {
	dir := shortDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(dir, "csi.sock")
	for name, at := range map[string]node.Sockets{
		"no path":         {},
		"not a directory": {CSI: filepath.Join(file, "csi.sock")},
		"not a socket":    {CSI: file},
		"no registration": {CSI: good, Registration: file},
	} {
		if _, err := node.Listen(t.Context(), node.Options{NodeID: nodeID, Backend: &scripted{}}, at); err == nil {
			t.Errorf("%s: it listens", name)
		}
	}
	if _, err := os.Lstat(good); !os.IsNotExist(err) {
		t.Errorf("a socket was left: %v", err)
	}
	if _, err := node.Listen(t.Context(), node.Options{}, node.Sockets{CSI: good}); err == nil {
		t.Error("it listens without a node")
	}
}
