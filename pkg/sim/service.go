package sim

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"

	cnssim "github.com/vmware/govmomi/cns/simulator"
	pbmsim "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/sts"
	stssim "github.com/vmware/govmomi/sts/simulator"
	vapisim "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	vslmsim "github.com/vmware/govmomi/vslm/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// service is one vCenter's vcsim, with every endpoint registered by hand on a mux that never listens. vcsim's own
// NewServer would listen, take the endpoints from a process-wide list and write its address into settings that all
// vCenters of the process share.
type service struct {
	vcsim       *simulator.Service
	ctx         *simulator.Context // the vCenter's own; operations work on copies
	tags        http.Handler       // vAPI, without the gate and without our guard
	credentials *credentials
	handler     http.Handler // everything, guarded
}

// newService makes an empty vCenter that believes to be reached at host ("127.0.0.11:8989").
func newService(name, instanceUUID, host, dir string, certificate tls.Certificate) (*service, error) {
	content := simulator.VPX().ServiceContent // a copy
	content.About.InstanceUuid = instanceUUID
	content.About.Version = inventory.Version
	content.About.ApiVersion = inventory.Version + ".0"
	content.About.Build = inventory.BuildNumber
	content.About.LicenseProductVersion = "8.0"
	content.About.FullName = fmt.Sprintf("%s %s build-%s (simulated, %s)",
		content.About.Name, inventory.Version, inventory.BuildNumber, name)

	ctx := simulator.NewContext()
	s := &service{
		vcsim:       simulator.New(simulator.NewServiceInstance(ctx, content, simulator.VPX().RootFolder)),
		ctx:         ctx,
		credentials: newCredentials(name),
	}
	// vcsim accepts any login while this has no user, and takes the address for links to itself.
	s.vcsim.Listen = &url.URL{Scheme: "https", Host: host, Path: vim25.Path, User: s.credentials.inside}
	sessions := ctx.Map.SessionManager()
	sessions.ServiceHostName = host
	sessions.ValidLogin = s.credentials.valid
	sessions.TLS = func() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{certificate}} }

	if err := s.settings(name, host, dir); err != nil {
		return nil, err
	}
	s.endpoints()
	s.handler = s.guard(s.vcsim.ServeMux)
	return s, nil
}

// settings gives the vCenter its own copy of the options, which vcsim keeps once for the process, with its own address
// in them.
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
			u.Host = host
			own.Value = u.String()
		case "VirtualCenter.InstanceName":
			own.Value = name
		case "config.vpxd.sso.default.admin":
			own.Value = s.credentials.user
		}
		options = append(options, &own)
	}
	manager.Setting = append(options,
		&types.OptionValue{Key: "vcsim.server.url", Value: "https://" + host},
		&types.OptionValue{Key: "vcsim.home", Value: dir},
	)
	return nil
}

// endpoints registers SOAP (vim25, PBM, CNS, VSLM, STS) and REST. Left out on purpose are vcsim's /nfc, whose leases are
// shared by all vCenters of a process, and /guestFile, which runs docker.
func (s *service) endpoints() {
	s.vcsim.RegisterSDK(s.ctx.Map, vim25.Path+"/vimService")
	mux := s.vcsim.ServeMux
	mux.HandleFunc(vim25.Path+"/vimServiceVersions.xml", s.vcsim.ServiceVersions)
	mux.HandleFunc(vim25.Path+"/vsanServiceVersions.xml", s.vcsim.ServiceVersionsVsan)
	mux.HandleFunc(datastorePath, s.vcsim.ServeDatastore)
	mux.HandleFunc("/about", s.vcsim.About)

	s.vcsim.RegisterSDK(volumes(cnssim.New()))
	s.vcsim.RegisterSDK(policies(pbmsim.New()))
	s.vcsim.RegisterSDK(vslmsim.New())

	path, tokens := stssim.New(s.vcsim.Listen, s.ctx.Map.OptionManager().Setting)
	s.vcsim.Handle(path, tokens)
	s.vcsim.Handle(sts.SystemPath, tokens)

	paths, rest := vapisim.New(s.vcsim.Listen, s.ctx.Map)
	for _, p := range paths {
		s.vcsim.Handle(p, rest)
	}
	s.tags = rest
	mux.HandleFunc(apiSessionPath, s.apiSession)
}
