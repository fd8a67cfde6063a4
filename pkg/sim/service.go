package sim

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/simulator"
	govmomists "github.com/vmware/govmomi/sts"
	vapisim "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vsan"
	vslmsim "github.com/vmware/govmomi/vslm/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/apis"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/corrections"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/dialect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/profile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/sts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/wsdl"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// service is the vcsim of one vCenter, with every endpoint registered on a mux that does not listen. vcsim's NewServer would
// listen, use a process-wide list of endpoints, and write its address into settings that all vCenters of the process share.
type service struct {
	vcsim    *simulator.Service
	ctx      *simulator.Context // of the vCenter; operations use copies
	access   *access.Manager
	rest     *rest.Handler // sessions and tags of REST
	policies *profile.Service
	volumes  *cns.Manager
	clusters *apis.Clusters // of vSAN
	tokens   sts.Tokens
	leases   apis.NFC
	handler  http.Handler // all endpoints, with access control
}

// parts are the inputs of an empty vCenter.
type parts struct {
	spec        *topology.VCenter
	stock       stock.Set
	host        string // its address for links ("127.0.0.11:8989")
	dir         string
	certificate tls.Certificate
	login       *url.Userinfo // of the administrator; nil: generated
	events      *event.Log
	saved       *Saved // nil for a vCenter that is built
	vcsim       *Vcsim
	onEnd       func(session string)
	onChange    func()
	onPassword  func(string) error
	onSession   func(string)
	// seed and contents are for volumes; cause returns the cause of what happens to a VM.
	seed, contents string
	cause          func(vm types.ManagedObjectReference) uint64
	guests         cns.Guests
}

// newService creates an empty vCenter.
func newService(p parts) (_ *service, err error) {
	globals.Lock()
	defer globals.Unlock()
	content, root := simulator.VPX().ServiceContent, simulator.VPX().RootFolder // copies
	if p.saved != nil {
		content, root = p.saved.loaded.Content(), p.saved.loaded.RootFolder()
	} else {
		content.About = inventory.About(content.About, p.spec.Version, p.spec.Name)
		content.About.InstanceUuid = p.spec.InstanceUUID
	}
	content.About.ApiVersion = cmp.Or(p.vcsim.APIVersion, content.About.ApiVersion)
	ctx := simulator.NewContext()
	s := &service{
		vcsim: simulator.New(simulator.NewServiceInstance(ctx, content, root)),
		ctx:   ctx,
	}
	administrator := p.spec.Administrator()
	if p.login != nil {
		administrator = p.login.Username()
	}
	s.access, err = access.New(ctx, access.Options{
		Administrator: administrator, Users: p.spec.Users, Roles: p.spec.Roles, Sessions: p.spec.Sessions, Stock: p.stock,
		AnyLogin: p.vcsim.AnyLogin, Token: s.tokens.User,
		OnEnd: p.onEnd, OnChange: p.onChange, OnPassword: p.onPassword, OnSession: p.onSession,
	})
	if err != nil {
		return nil, err
	}
	if p.login != nil {
		password, _ := p.login.Password()
		if err := s.access.SetPassword(administrator, password); err != nil {
			s.access.Close()
			return nil, err
		}
	}
	if p.saved != nil && p.saved.state != nil {
		if err := p.saved.state.setPasswords(s); err != nil {
			s.access.Close()
			return nil, err
		}
	}
	// vcsim accepts any login while this has no user, and uses the address in links.
	s.vcsim.Listen = &url.URL{Scheme: p.vcsim.scheme(), Host: p.host, Path: vim25.Path, User: s.access.InternalUser()}
	sessions := ctx.Map.SessionManager()
	sessions.ServiceHostName = p.host
	sessions.ValidLogin = s.access.Valid
	sessions.TLS = func() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{p.certificate}} }

	if err := s.settings(p.spec.Name, p.host, p.dir); err != nil {
		s.access.Close()
		return nil, err
	}
	s.policies = s.newPolicies(content.About.InstanceUuid)
	s.endpoints(p, content.About.ApiVersion)
	s.handler = corrections.Unlock(s.files(dialect.Handler(corrections.FaultStrings(s.access.Handler(s.vcsim.ServeMux)))))
	return s, nil
}

// close stops the background work of the service.
func (s *service) close() {
	s.volumes.Close()
	s.rest.Close()
	s.access.Close()
}

// settings gives the vCenter a separate copy of the options, with its address; vcsim has one copy for the process.
func (s *service) settings(name, host, dir string) error {
	manager := s.ctx.Map.OptionManager()
	options := make([]types.BaseOptionValue, 0, len(manager.Setting)+2)
	for _, o := range manager.Setting {
		own := *o.GetOptionValue()
		switch own.Key {
		case "config.vpxd.sso.sts.uri", "config.vpxd.sso.groupcheck.uri", "config.vpxd.sso.admin.uri":
			u, err := url.Parse(fmt.Sprint(own.Value))
			if err != nil {
				return fmt.Errorf("option %s: %w", own.Key, err)
			}
			u.Scheme, u.Host = s.vcsim.Listen.Scheme, host
			own.Value = u.String()
		case "VirtualCenter.InstanceName":
			own.Value = name
		case "config.vpxd.sso.default.admin":
			own.Value = s.access.Administrator().Name
		}
		options = append(options, &own)
	}
	manager.Setting = append(options,
		&types.OptionValue{Key: "vcsim.server.url", Value: s.vcsim.Listen.Scheme + "://" + host},
		&types.OptionValue{Key: "vcsim.home", Value: dir},
	)
	return nil
}

// endpoints registers all endpoints of vcsim: SOAP, REST and files. It omits vcsim's /guestFile, which runs docker.
func (s *service) endpoints(p parts, api string) {
	s.vcsim.RegisterSDK(s.ctx.Map, vim25.Path+"/vimService")
	mux := s.vcsim.ServeMux
	mux.HandleFunc(vim25.Path+"/vimServiceVersions.xml", dialect.Versions(api))
	mux.HandleFunc(vim25.Path+"/vsanServiceVersions.xml", s.vcsim.ServiceVersionsVsan)
	for _, path := range wsdl.Paths() {
		mux.Handle(path, wsdl.Handler())
	}
	mux.HandleFunc(datastorePath, s.vcsim.ServeDatastore)

	s.volumes = s.newVolumes(p)
	registries := []*simulator.Registry{s.ctx.Map}
	for _, r := range []*simulator.Registry{s.volumes.Registry(), s.policies.Registry(), s.volumes.Guard(vslmsim.New())} {
		r.Handler = s.access.Hook
		if r.Path == vsan.Path { // which vSAN shares
			r.Handler = s.withVsan()
		}
		r.Handler = corrections.Noted(r.Handler)
		s.access.Cookies(r)
		var alias []string
		if r.Path == pbm.Path {
			alias = []string{pbm.Path + "/sdk"} // where pyvmomi's samples look
		}
		s.vcsim.RegisterSDK(r, alias...)
		registries = append(registries, r)
	}
	registries = append(registries, s.directory(p.spec)...)
	s.leases.Open = s.access.Open
	mux.Handle(apis.NFCPath, &s.leases)
	mux.Handle("/about", apis.About(registries...))
	mux.Handle("/debug/vars", s.private(apis.Vars(s.ctx.Map)))
	issuer := s.tokens.Handler(s.access.ValidPassword)
	for _, path := range []string{govmomists.Path, govmomists.Path + "/vsphere.local", govmomists.SystemPath} {
		s.vcsim.Handle(path, issuer) // the second is the one of the lookup service
	}

	paths, next := vapisim.New(s.vcsim.Listen, s.ctx.Map)
	s.rest = rest.New(rest.Options{
		Base: s.ctx, Next: apis.REST(s.ctx.Map, s.vcsim.Listen, next), MayCall: s.mayCall, Token: s.tokens.Bearer, Sessions: s.access, Valid: s.access.ValidPassword,
		MayRead: s.access.MayRead, MayWrite: s.access.MayTag, Client: func(id string) soap.RoundTripper { return sessionClient{s, id} },
		Stock: p.stock, Events: p.events, VCenter: p.spec.Name,
	})
	for _, path := range append(paths, apis.BackupPath) {
		s.vcsim.Handle(path, s.rest)
	}
}

// sessionClient makes SOAP calls in the process in the name of a session's user.
type sessionClient struct {
	service *service
	id      string
}

// RoundTrip implements soap.RoundTripper.
func (c sessionClient) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	as, ok := c.service.access.As(ctx, c.id)
	if !ok {
		return vc.Fault(new(types.NotAuthenticated))
	}
	return c.service.vcsim.RoundTrip(as, req, res)
}
