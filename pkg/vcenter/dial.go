package vcenter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// handshake bounds the making of one connection.
const handshake = 30 * time.Second

// DialTLS makes a connection to the vCenter and verifies its certificate as [VCenter.Connect] does: by the authorities, or
// by the thumbprint where there is no other reason to trust it. An error for lack of trust wraps
// [client.ErrCertificate].
func (v VCenter) DialTLS(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", v.Address())
	if err != nil {
		return nil, fmt.Errorf("vcenter %q: %w", v.Name, err)
	}
	trust := client.Config{Insecure: v.Insecure, CAFile: v.CAFile, CAData: v.Authorities, Thumbprint: v.Thumbprint}
	config := trust.TLS(v.Server)
	config.NextProtos = []string{"http/1.1"}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("vcenter %q: %w", v.Name, err), conn.Close())
	}
	return secure, nil
}
