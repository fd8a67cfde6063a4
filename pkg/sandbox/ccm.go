package sandbox

import (
	"context"
	"net/http"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// CCM chooses the cloud controller manager of a sandbox.
type CCM = ccm.Options

// callTimeout returns the argument that gives programs of this project the sandbox's own time-out for calls to real vCenters.
func (o *Options) callTimeout() []string {
	if o.Real == nil {
		return nil
	}
	return []string{"--vcenter-call-timeout=" + vcenter.Patience.String()}
}

// setCCM makes the cloud controller manager and its configuration, which options and ground choose.
func (s *Sandbox) setCCM() {
	place := ccm.Place{Namespace: s.ccmNamespace(), Roles: s.facts.Namespace, Labels: s.facts.Labels}
	c := &cloudconfig.Config{
		Log: s.log, Logger: s.opts.Logger, Causes: s.causes, Background: &s.background,
		Client:   func() kubernetes.Interface { return s.cluster.Client() },
		VCenters: func() vcenters.List { return s.vcenters },
		Render: func(c sim.CloudConfig) ([]byte, error) {
			if s.real != nil {
				return cloudconfig.RenderReal(c, s.topology(), s.vcenters)
			}
			return s.sim.CloudConfig(c)
		},
		Namespace: place.Namespace, Labels: place.Labels,
		Provided: s.opts.CCM.None || s.opts.VCentersOnly,
	}
	if s.opts.Dir != nil { // nil in tests
		c.File, c.CAFile = s.opts.Dir.Path("ccm", cloudconfig.Key), s.vcenterCA()
	}
	if s.facts.Pods && s.opts.CSI.Enabled {
		c.Driver = &cloudconfig.Driver{Deploy: s.deployCSI, Host: func(vcenter string) string { return s.runningPods().Host(vcenter) }}
		if s.opts.CSI.Foreign != nil {
			c.Driver.Configure = s.configureForeignCSI
		}
	}
	replicas := func(r *ccm.Replicas) {
		r.Options, r.Log, r.Logger, r.Dir, r.Components, r.Ready = s.opts.CCM, s.log, s.opts.Logger, s.opts.Dir, s.components, s.ccmReady
		if s.opts.Real != nil { // some log in before they are healthy
			r.StartTime = s.stepTime()
		}
	}
	s.config = c
	if s.facts.Pods && s.opts.CCM.WithDefaults().HasImage() {
		p := &ccm.Pods{
			Deployment: func() ccm.Deployment { return s.runningPods() }, Args: s.opts.callTimeout(),
			Deployed: c.WatchCredentials, Detail: s.detail,
		}
		replicas(&p.Replicas)
		c.Pods = func() cloudconfig.Pods { return s.runningPods() }
		s.ccm = p
		return
	}
	p := &ccm.Processes{
		Speed: s.opts.Speed, Causes: s.causes, Ongoing: &s.ongoing, Background: &s.background, Proxies: &s.proxies, Tokens: &s.tokens,
		Cluster: func() ccm.Cluster { return s.cluster }, Place: place, ConfigFile: c.File, Args: s.opts.callTimeout(),
		Unhealthy: func(text string) { s.crashed(bootCrashes, text) },
	}
	replicas(&p.Replicas)
	if s.facts.ReadOnly {
		p.Refused = &api.Error{
			Code: "unsupported", Message: "this sandbox only watches the cluster: it starts no cloud controller manager there",
			Try: "vsphere-sandbox down, then up with --ccm",
		}
	}
	c.Changed = p.ConfigChanged
	s.ccm = p
}

// ccmReady returns an error if there is no cloud controller manager to change.
func (s *Sandbox) ccmReady() error {
	s.mu.Lock()
	phase := s.phase
	s.mu.Unlock()
	switch {
	case s.opts.VCentersOnly:
		return api.Conflict("this sandbox has vCenters alone, and no cloud controller manager")
	case phase != api.Ready:
		return &api.Error{Code: "unavailable", Message: "the sandbox is " + string(phase), Try: "vsphere-sandbox wait --for=ready"}
	}
	return nil
}

// ccmPods implements [ccm.Deployment] and [cloudconfig.Pods].
type ccmPods struct{ *pods }

// runningPods returns the pods of the sandbox, which are nil as long as the ground has set none.
func (s *Sandbox) runningPods() ccmPods {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ccmPods{s.pods}
}

// Image returns the name that the image of the built-in program has on the nodes.
func (p ccmPods) Image() string { return p.images.Name(image.CCM) }

// Host returns the host by which pods reach a vCenter, "" before that is known.
func (p ccmPods) Host(vcenter string) string {
	if p.pods == nil {
		return ""
	}
	host, _ := p.where(vcenter)
	return host
}

// serveMetrics responds with the metrics of a component: a cloud controller manager, a pod, or the API server.
func (s *Sandbox) serveMetrics(w http.ResponseWriter, r *http.Request) {
	body, err := s.metrics(r.Context(), r.PathValue("component"))
	if err != nil {
		control.Reply(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(body) // the only error is that the client has left
}

func (s *Sandbox) metrics(ctx context.Context, component string) ([]byte, error) {
	if component == "control-plane" {
		s.mu.Lock()
		cluster := s.cluster
		s.mu.Unlock()
		if cluster == nil {
			return nil, &api.Error{Code: "unavailable", Message: "there is no API server yet"}
		}
		return cluster.Client().CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	}
	if _, ok := s.podOf(component); ok {
		body, err := s.pods.Metrics(ctx, component)
		if err != nil {
			return nil, &api.Error{Code: "unavailable", Message: component + ": " + err.Error(), Try: "vsphere-sandbox logs " + component}
		}
		return body, nil
	}
	if p, ok := s.ccm.(*ccm.Processes); ok && p.Has(component) {
		return p.Metrics(ctx, component)
	}
	return nil, &api.Error{Code: "not-found", Message: "metrics: there is no component \"" + component + "\" that has any", Try: "vsphere-sandbox ccm status"}
}
