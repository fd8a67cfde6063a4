package vcenter

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
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
	if who == "" {
		who = "credentials of " + v.SecretsDirectory
	}
	return fmt.Sprintf("vcenter %q at %s (%s)", v.Name, v.Address(), who)
}

// GoString returns the same as String: %#v must not show the password.
func (v VCenter) GoString() string { return v.String() }

// LogValue returns the same as String, for logs.
func (v VCenter) LogValue() slog.Value { return slog.StringValue(v.String()) }
