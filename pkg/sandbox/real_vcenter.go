package sandbox

import (
	"context"
	"crypto/tls"

	"github.com/vmware/govmomi/vim25/types"

	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/front"
)

// realVCenter is a real vCenter behind its front. It implements [endpoint].
type realVCenter struct {
	*front.Front
	is    vcenter.VCenter
	login func(context.Context) (client.Credentials, error)
	about types.AboutInfo
}

// Name implements [endpoint].
func (v *realVCenter) Name() string { return v.is.Name }

// InstanceUUID implements [endpoint].
func (v *realVCenter) InstanceUUID() string { return v.about.InstanceUuid }

// Version implements [endpoint].
func (v *realVCenter) Version() string { return v.about.Version }

// User implements [endpoint]; empty where the credentials cannot be read.
func (v *realVCenter) User() string {
	login, err := v.login(context.Background())
	if err != nil {
		return v.is.User
	}
	return login.User
}

// Password implements [endpoint]; empty where the credentials cannot be read.
func (v *realVCenter) Password() string {
	login, err := v.login(context.Background())
	if err != nil {
		return ""
	}
	return login.Password
}

// NewCertificate implements [fault.Front].
func (v *realVCenter) NewCertificate(w sim.CertificateWish) (tls.Certificate, error) {
	return v.Front.NewCertificate(w)
}
