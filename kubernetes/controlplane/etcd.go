package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"google.golang.org/grpc"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/objects"
)

type etcdServer struct {
	*embed.Etcd
	endpoint string
}

// startEtcd starts a single member on a free loopback port and waits until it serves. Clients need a certificate of the
// sandbox's etcd authority, since every user of the host can connect to the loopback interface.
func startEtcd(ctx context.Context, cfg contract.ControlPlane, slow *slowness) (*etcdServer, error) {
	tls := transport.TLSInfo{
		CertFile:       filepath.Join(cfg.PKI, "etcd.crt"),
		KeyFile:        filepath.Join(cfg.PKI, "etcd.key"),
		TrustedCAFile:  filepath.Join(cfg.PKI, "etcd-ca.crt"),
		ClientCertAuth: true,
	}
	local := []url.URL{{Scheme: "https", Host: "127.0.0.1:0"}}

	c := embed.NewConfig()
	c.Name = "sandbox"
	c.Dir = cfg.EtcdDir
	c.ListenClientUrls, c.AdvertiseClientUrls = local, local
	c.ListenPeerUrls, c.AdvertisePeerUrls = local, local
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.ClientTLSInfo, c.PeerTLSInfo = tls, tls
	c.LogLevel = "warn"
	c.LogOutputs = []string{"stderr"}
	c.EnableGRPCGateway = false                 // it would dial the port before that is known
	c.WarningUnaryRequestDuration = time.Second // by default every request is a warning
	// A killed process loses no written data; only a host that loses power does, and a sandbox does not survive that.
	c.UnsafeNoFsync = true
	// A single member elects itself: it need not wait for a network.
	c.TickMs, c.ElectionMs = 10, 100
	// A sandbox writes little: keep the history short.
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModePeriodic, "5m"
	c.QuotaBackendBytes = 2 << 30

	c.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainUnaryInterceptor(slow.intercept, limitRequests)}
	c.MaxRequestBytes, c.MaxTxnOps = restoreBytes, restoreOps // what limitRequests lets through

	e, err := embed.StartEtcd(c)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.Server.ReadyNotify():
		return &etcdServer{Etcd: e, endpoint: "https://" + e.Clients[0].Addr().String()}, nil
	case err := <-e.Err():
		e.Close()
		return nil, err
	case <-e.Server.StopNotify():
		e.Close()
		return nil, errors.New("stopped before it was ready")
	case <-ctx.Done():
		e.Close()
		return nil, ctx.Err()
	}
}

// fill gives an empty etcd the objects of a file, if there is one. The API server must not have started.
func (e *etcdServer) fill(ctx context.Context, file string) error {
	if file == "" {
		return nil
	}
	client := v3client.New(e.Server)
	defer client.Close()
	if any, err := client.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil || any.Count > 0 {
		return err // a restarted control plane continues
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return objects.Restore(ctx, client, f)
}

// wait returns when ctx ends, or with the reason if etcd ends before.
func (e *etcdServer) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-e.Err():
		return fmt.Errorf("serving: %w", err)
	case <-e.Server.StopNotify():
		return errors.New("etcd stopped unexpectedly")
	}
}
