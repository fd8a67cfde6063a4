package vcenter

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Patience is the default timeout of a call: a vCenter that needs half a minute for an answer is slow, not dead.
const Patience = time.Minute

// Options configures [VCenter.Connect]. UserAgent is mandatory.
type Options struct {
	// UserAgent is sent with every request.
	UserAgent string
	// Patience is the timeout of every call, including the login. Default: [Patience].
	Patience time.Duration
	// OnCall, if set, is called with every call; see the field of provider/vcenter's Config.
	OnCall func(client.Call)
	// Logger receives changes of the connection. Nil: none.
	Logger *slog.Logger
}

// Connection is a session at a vCenter, which is opened again after it has expired. It is safe for concurrent use until it is
// closed.
type Connection struct {
	// VCenter is the vCenter of the connection.
	VCenter VCenter

	client *client.Client
	end    context.CancelFunc
	ended  sync.WaitGroup
}

// Connect logs in, without retries: it returns an error if the vCenter is unreachable, not trusted ([*UntrustedError]) or refuses
// the credentials. ctx limits only the login; [Connection.Close] logs out.
func (v VCenter) Connect(ctx context.Context, o Options) (*Connection, error) {
	states := make(chan client.State, 1)
	c, err := client.New(client.Config{
		Name: v.Name, Server: v.Server, Port: v.Port, Insecure: v.Insecure, CAFile: v.CAFile, CAData: v.Authorities,
		Thumbprint: v.Thumbprint, UserAgent: o.UserAgent, Credentials: v.credentials,
		CallTimeout: cmp.Or(o.Patience, Patience), OnCall: o.OnCall, Logger: o.Logger,
		OnState: func(s client.State) {
			select {
			case states <- s:
			default: // only the first result matters
			}
		},
	})
	if err != nil {
		return nil, err
	}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	conn := &Connection{VCenter: v, client: c, end: end}
	conn.ended.Go(func() { _ = c.Run(running) }) // its error has no information
	select {
	case s := <-states:
		if s.Connected {
			return conn, nil
		}
		err = s.Err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	conn.Close()
	if errors.Is(err, client.ErrCertificate) {
		return nil, v.untrusted(ctx, err)
	}
	return nil, fmt.Errorf("%v: %w", v, err)
}

// credentials reads credentials from a directory at every login.
func (v VCenter) credentials(context.Context) (client.Credentials, error) {
	if v.password != "" {
		return client.Credentials{User: v.User, Password: v.password}, nil
	}
	secret, err := config.ReadSecretsDirectory(v.SecretsDirectory)
	if err != nil {
		return client.Credentials{}, err
	}
	found, err := secret.For(v.Server)
	if err != nil {
		return client.Credentials{}, fmt.Errorf("%s: %w", v.SecretsDirectory, err)
	}
	return client.Credentials(found), nil
}

// Close logs out, which takes at most a few seconds. It may be called more than once.
func (c *Connection) Close() {
	c.end()
	c.ended.Wait()
}

// Do runs f, one SOAP exchange, with the timeout, and once more if the session has expired. Its error names the vCenter.
func (c *Connection) Do(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
	return c.client.Do(ctx, func(ctx context.Context, s *client.Session) error { return f(ctx, s.Vim) })
}

// DoREST is Do for the REST API, whose first call logs in separately.
func (c *Connection) DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error {
	return c.client.DoREST(ctx, f)
}

// Login returns the credentials for logins other than [VCenter.Connect], reading them from a directory if necessary. The result
// is a secret: it must not appear in a log, argument or error.
func (v VCenter) Login(ctx context.Context) (client.Credentials, error) { return v.credentials(ctx) }

// Shortcoming is what a release of vCenter lacks, and what to do about it.
type Shortcoming struct {
	Why, Try string
	// Serious is set if a feature does not work at all.
	Serious bool
}

// ShortcomingOf checks the version of the API, as the CSI driver does: 6.7 Update 3, which introduced CNS, reports API 6.7.3 and
// release 6.7.0. It returns nil for a complete release, and an error for an invalid version.
func ShortcomingOf(about types.AboutInfo) (*Shortcoming, error) {
	var major, minor, update int
	if n, err := fmt.Sscanf(about.ApiVersion, "%d.%d.%d", &major, &minor, &update); n < 2 {
		return nil, fmt.Errorf("API version %q: %w", about.ApiVersion, err)
	}
	const upgrade = "upgrade to 7.0 or newer"
	switch number := major*10000 + minor*100 + update; {
	case about.ApiType != "VirtualCenter":
		return &Shortcoming{"a host alone has no tags and no volumes", "use the vCenter that manages it", true}, nil
	case number < 60703:
		return &Shortcoming{"it has no cloud native storage: no volume can be made", upgrade, true}, nil
	case number < 70000:
		return &Shortcoming{"it is out of support, and the CSI driver can neither snapshot volumes nor grow those in use", upgrade, false}, nil
	}
	return nil, nil
}

// handshake is the timeout of a TLS handshake.
const handshake = 30 * time.Second

// DialTLS connects to the vCenter and verifies its certificate as [VCenter.Connect] does: by the authorities, or else by the
// thumbprint. An error for lack of trust wraps [client.ErrCertificate].
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
