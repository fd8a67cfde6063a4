package vcenter

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Config is one or more vCenters. Create one with [LoadFile], [Load] or [FromEnvironment].
type Config struct {
	// VCenters are sorted by name; there is at least one.
	VCenters []VCenter
	// Region and Zone are names of tag categories.
	Region, Zone string
	// Warnings describe valid settings without effect, one line each.
	Warnings []string
}

// VCenter is the address of a vCenter with an account there. It may be copied; formatting it omits its password.
type VCenter struct {
	// Name is the name in messages.
	Name string
	// Server is a host name or an IP address without brackets; Port is never zero.
	Server string
	Port   int
	// User is empty if SecretsDirectory has the credentials.
	User             string
	SecretsDirectory string

	// Insecure accepts any certificate.
	Insecure bool
	// CAFile names a PEM file with authorities to trust instead of the system's; Authorities holds PEM, too.
	CAFile      string
	Authorities []byte
	// Thumbprint, SHA-1 or SHA-256, is accepted if the authority is not trusted.
	Thumbprint string
	// Datacenters are names or inventory paths; empty means all.
	Datacenters []string

	password string
	govc     bool // from govc's variables, which errors then refer to
}

// The default tag categories.
const (
	DefaultRegion = "k8s-region"
	DefaultZone   = "k8s-zone"
)

// LoadFile reads a vsphere.conf, YAML or INI. It returns all problems, each with file and line, as a [*config.Error]. Paths in
// the file are relative to its folder.
func LoadFile(name string) (*Config, error) {
	data, err := input.Head(name, config.MaxSize+1) // the extra byte makes Load report the size
	if err != nil {
		return nil, fmt.Errorf("cloud config: %w", err)
	}
	read, err := config.Load(name, data)
	if err != nil {
		return nil, err
	}
	c, err := fromCloudConfig(name, read)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("cloud config: %w", err)
	}
	for i := range c.VCenters {
		v := &c.VCenters[i]
		v.CAFile, v.SecretsDirectory = within(dir, v.CAFile), within(dir, v.SecretsDirectory)
	}
	return c, nil
}

// within resolves a path relative to that folder.
func within(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Load is [LoadFile] for a text; name is the file name in messages.
func Load(name string, data []byte) (*Config, error) {
	read, err := config.Load(name, data)
	if err != nil {
		return nil, err
	}
	return fromCloudConfig(name, read)
}

func fromCloudConfig(name string, read *config.Config) (*Config, error) {
	c := &Config{Region: read.Labels.Region, Zone: read.Labels.Zone, Warnings: read.Warnings}
	if c.Region == "" {
		c.Region, c.Zone = DefaultRegion, DefaultZone
	}
	var errs []error
	for _, v := range read.VCenters {
		if v.Password == "" && v.SecretsDirectory == "" {
			why := "has no credentials"
			if v.Secret != (config.SecretRef{}) {
				why = fmt.Sprintf("has its credentials in Secret %s/%s, which only a cluster can read", v.Secret.Namespace, v.Secret.Name)
			}
			errs = append(errs, fmt.Errorf("%s: vcenter.%s: %s: add user and password, or secretsDirectory", name, v.Tenant, why))
			continue
		}
		c.VCenters = append(c.VCenters, VCenter{
			Name: v.Tenant, Server: v.Server, Port: cmp.Or(v.Port, 443), User: v.User, password: v.Password,
			SecretsDirectory: v.SecretsDirectory, Insecure: v.InsecureFlag, CAFile: v.CAFile, Thumbprint: v.Thumbprint,
			Datacenters: v.Datacenters,
		})
	}
	if len(read.VCenters) == 0 {
		//nolint:revive,staticcheck // it ends with a YAML key
		errs = append(errs, fmt.Errorf("%s: names no vCenter: add one below vcenter:", name))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// Address returns host:port.
func (v VCenter) Address() string { return net.JoinHostPort(v.Server, strconv.Itoa(v.Port)) }

// String returns the vCenter and the user.
func (v VCenter) String() string {
	who := v.User
	who = cmp.Or(who, "credentials of "+v.SecretsDirectory)
	return fmt.Sprintf("vcenter %q at %s (%s)", v.Name, v.Address(), who)
}

// GoString returns the same as String: %#v must not show the password.
func (v VCenter) GoString() string { return v.String() }

// LogValue returns the same as String, for logs.
func (v VCenter) LogValue() slog.Value { return slog.StringValue(v.String()) }

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
	found, err := secret.For(v.Name, v.Server)
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
