package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/rbac"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/boot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// CCM chooses the cloud controller manager of a sandbox.
type CCM = ccm.Options

// cloudConfig returns vsphere.conf for the vCenters, and for the NSX Manager if the cloud controller manager uses it.
func cloudConfig(s *Sandbox, c sim.CloudConfig) ([]byte, error) {
	conf, err := s.source.CloudConfig(c)
	if err != nil || s.opts.LoadBalancer != LoadBalancerNSX {
		return conf, err
	}
	more, err := s.nsx.CloudConfig(nsx.Place{CAFile: c.CAFile})
	return append(conf, more...), err
}

// assembleCCM makes the cloud controller manager and its configuration, which the options and the ground of s choose.
func assembleCCM(s *Sandbox) {
	place := s.ccmPlace()
	c := &cloudconfig.Config{
		Log: s.log, Logger: s.opts.Logger, Causes: s.causes, Background: &s.background,
		Client:    func() kubernetes.Interface { return s.cluster.Client() },
		VCenters:  func() vcenters.List { return vcentersOf(s) },
		Render:    func(c sim.CloudConfig) ([]byte, error) { return cloudConfig(s, c) },
		Namespace: place.Namespace, Labels: place.Labels,
		Provided: s.opts.CCM.None || s.guarded() != nil,
	}
	if s.opts.Dir != nil { // nil in tests
		c.File, c.CAFile = s.opts.Dir.Path("ccm", cloudconfig.Key), s.vcenterCA()
	}
	switch {
	case s.csiDeployed():
		c.Driver = &cloudconfig.Driver{Deploy: s.csi.Deploy, Host: s.pods.Host}
		if s.opts.CSI.Foreign != nil {
			c.Driver.Configure = s.csi.ConfigureForeign
		}
	case s.opts.CSI.Enabled:
		c.Driver = &cloudconfig.Driver{Configure: func(ctx context.Context, _ map[string][]byte) error { return s.csi.Reconfigure(ctx) }}
	}
	s.config = c
	replicas := func(r *ccm.Replicas) {
		r.Options, r.Log, r.Logger, r.Dir, r.Components = s.opts.CCM, s.log, s.opts.Logger, s.opts.Dir, s.components
		r.StartTime = s.source.StepTime() // some log in before they are healthy
		r.Ready = func() error { return changeable(s) }
	}
	if ccmDeployed(s) {
		p := &ccm.Pods{Deployment: s.pods, Args: s.source.Args(), Deployed: c.WatchCredentials, Detail: s.boot.Detail}
		if s.opts.LoadBalancer == LoadBalancerNSX {
			p.Rights = rbac.Objects(rbac.Config{
				Namespace: place.Namespace, ServiceAccount: ccm.ServiceAccount, Pod: true, SecretNames: []string{cloudconfig.Secret, deploy.NSXSecret},
				LeaderElection: true, LoadBalancers: rbac.OfNSX,
			})
		}
		replicas(&p.Replicas)
		c.Pods, s.pods.CCMChanged, s.ccm = s.pods, p.Changed, p
		return
	}
	p := &ccm.Processes{
		Speed: s.opts.Speed, Causes: s.causes, Ongoing: &s.ongoing, Background: &s.background, Proxies: &s.proxies, Tokens: &s.tokens,
		Cluster: func() ccm.Cluster { return s.cluster }, Place: place, ConfigFile: c.File, Args: s.source.Args(),
		Unhealthy: func(text string) { s.boot.Crashed(boot.MaxCrashes, text) },
	}
	if s.opts.LoadBalancer == LoadBalancerNSX && s.opts.Topology.Spec.NSX.Routes {
		p.Routed = embedded.PodCIDR
	}
	if hasSupervisor(s) {
		p.Guest = s.supervisor.Environment
		p.Place.LoadBalancers = rbac.OfSupervisor
	}
	replicas(&p.Replicas)
	c.Changed, s.ccm = p.ConfigChanged, p
}

// ccmDeployed reports whether the cloud controller manager runs as pods.
func ccmDeployed(s *Sandbox) bool {
	g, ok := s.ground.(ground.Deployer)
	return ok && g.DeploysCCM()
}

// changeable returns an error if the sandbox is in no state to change its programs.
func changeable(s *Sandbox) error {
	if err := s.guarded(); err != nil {
		return err
	}
	if phase := s.boot.Phase(); phase != api.Ready {
		return &api.Error{Code: "unavailable", Message: "the sandbox is " + string(phase), Try: "vsphere-sandbox wait --for=ready"}
	}
	return nil
}

// ccmPlace is where the objects of the cloud controller manager are in the cluster.
func (s *Sandbox) ccmPlace() ccm.Place {
	place := ccm.Place{Namespace: cmp.Or(s.facts.Namespace, cloudconfig.Namespace), Roles: s.facts.Namespace, Labels: s.facts.Labels}
	if s.opts.LoadBalancer == LoadBalancerNSX {
		place.LoadBalancers = rbac.OfNSX
	}
	return place
}

// registerPrograms adds the handlers of the cloud controller manager and the CSI driver, and those of the metrics of all components.
func (s *Sandbox) registerPrograms(mux *http.ServeMux) {
	mux.Handle("POST /v1/ccm", control.Request(func(ctx context.Context, r api.CCMRequest) (api.Done, error) { return s.ccm.Swap(ctx, r) }))
	mux.Handle("POST /v1/ccm/restart", control.Request(func(ctx context.Context, _ struct{}) (api.Done, error) { return s.ccm.Restart(ctx) }))
	mux.Handle("GET /v1/csi", control.Answer(func(ctx context.Context) (any, error) { return s.csi.Status(ctx) }))
	mux.Handle("POST /v1/csi", control.Request(s.csi.Swap))
	mux.Handle("POST /v1/csi/restart", control.Request(func(ctx context.Context, _ struct{}) (api.Done, error) { return s.csi.Restart(ctx) }))
	mux.HandleFunc("GET /v1/metrics/{component}", func(w http.ResponseWriter, r *http.Request) {
		body, err := s.metrics(r.Context(), r.PathValue("component"))
		if err != nil {
			control.Reply(w, nil, err)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(body) // the only error is that the client has left
	})
}

// metrics returns the metrics of a cloud controller manager, a pod, or the API server.
func (s *Sandbox) metrics(ctx context.Context, component string) ([]byte, error) {
	if component == "control-plane" {
		client := s.client()
		if client == nil {
			return nil, &api.Error{Code: "unavailable", Message: "there is no API server yet"}
		}
		return client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	}
	if _, ok := s.pods.Find(component); ok {
		body, err := s.pods.Metrics(ctx, component)
		if err != nil {
			return nil, &api.Error{Code: "unavailable", Message: component + ": " + err.Error(), Try: "vsphere-sandbox logs " + component}
		}
		return body, nil
	}
	if p, ok := s.ccm.(*ccm.Processes); ok && p.Has(component) {
		return p.Metrics(ctx, component)
	}
	return nil, &api.Error{Code: "not-found", Message: fmt.Sprintf("metrics: component %q not found, or it has no metrics", component), Try: "vsphere-sandbox ccm status"}
}
