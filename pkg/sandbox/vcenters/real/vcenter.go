package real

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/front"
)

// endpoint is a real vCenter behind its front. It implements [vcenters.Endpoint].
type endpoint struct {
	*front.Front
	vcenter   vcenter.VCenter
	know      func(...string) error
	about     types.AboutInfo
	inventory *world.Inventory
}

func (e *endpoint) Name() string { return e.vcenter.Name }

func (e *endpoint) InstanceUUID() string { return e.about.InstanceUuid }

func (e *endpoint) Version() string { return e.about.Version }

// login reads the credentials, which may have changed, and adds the password to the known secrets before it is used.
func (e *endpoint) login(ctx context.Context) (client.Credentials, error) {
	c, err := e.vcenter.Login(ctx)
	if err != nil {
		return c, err
	}
	if err := e.know(c.Password); err != nil {
		return client.Credentials{}, fmt.Errorf("vcenter %q: %w", e.vcenter.Name, err)
	}
	return c, nil
}

// User is that of the configuration where the credentials cannot be read.
func (e *endpoint) User() string {
	login, err := e.login(context.Background())
	if err != nil {
		return e.vcenter.User
	}
	return login.User
}

// Password is "" where the credentials cannot be read.
func (e *endpoint) Password() string {
	login, err := e.login(context.Background())
	if err != nil {
		return ""
	}
	return login.Password
}

func (e *endpoint) NewCertificate(w sim.CertificateOptions) (tls.Certificate, error) {
	return e.Front.NewCertificate(w)
}

func (*endpoint) Simulator() *sim.VCenter { return nil }

func (*endpoint) Patience() time.Duration { return vcenter.Patience }

func (*endpoint) TagPeriod() time.Duration { return time.Minute }

func (*endpoint) Causing(string, uint64) (release func()) { return func() {} }

func (*endpoint) OnDied(func(types.ManagedObjectReference, uint64)) {}

func (e *endpoint) Volumes() (all []sim.Volume) {
	for _, vm := range e.inventory.VMs() {
		all = append(all, vcenters.VolumesOf(vm)...)
	}
	return all
}

func (*endpoint) VolumeDir(string) string { return "" }

func (*endpoint) Secrets() []string { return nil }
