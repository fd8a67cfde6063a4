package embedded

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/objects"
)

const (
	// largest bounds an answer of etcd.
	largest = 512 << 20
	// dialTimeout bounds the connection to etcd.
	dialTimeout = 5 * time.Second
)

// etcd returns a client of the cluster's etcd. The caller closes it.
func (c *Cluster) etcd(ctx context.Context) (*clientv3.Client, error) {
	endpoint, err := os.ReadFile(EtcdEndpoint(c.opts.Dir))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.pki.dir, "etcd-client.crt"), filepath.Join(c.pki.dir, "etcd-client.key"))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	ca, err := os.ReadFile(filepath.Join(c.pki.dir, "etcd-ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("etcd: etcd-ca.crt has no certificate")
	}
	return clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: []string{string(endpoint)}, DialTimeout: dialTimeout, Logger: zap.NewNop(),
		TLS:                &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12},
		MaxCallSendMsgSize: largest, MaxCallRecvMsgSize: largest,
	})
}

// SaveObjects writes all objects of the API server, as they are at one revision, for [Cluster.RestoreObjects] and [Options].Objects. It
// returns how many there are. The control plane must run.
func (c *Cluster) SaveObjects(ctx context.Context, w io.Writer) (n int, err error) {
	client, err := c.etcd(ctx)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	return objects.Save(ctx, client, w)
}

// RestoreObjects makes the objects of the API server those that [Cluster.SaveObjects] wrote: see [objects.Restore]. The control plane
// must run, and must be that of the cluster that was saved.
func (c *Cluster) RestoreObjects(ctx context.Context, r io.Reader) error {
	client, err := c.etcd(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	return objects.Restore(ctx, client, r)
}
