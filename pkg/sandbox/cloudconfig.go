package sandbox

import (
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// newCloudConfig returns the configuration of the cloud controller manager that the options and the ground of s choose.
func newCloudConfig(s *Sandbox) *cloudconfig.Config {
	c := &cloudconfig.Config{
		Log: s.log, Logger: s.opts.Logger, Causes: s.causes, Background: &s.background,
		Client:    func() kubernetes.Interface { return s.cluster.Client() },
		VCenters:  func() vcenters.List { return s.vcenters },
		Render:    func(c sim.CloudConfig) ([]byte, error) { return s.source.CloudConfig(c) },
		Namespace: s.ccmNamespace(), Labels: s.facts.Labels,
		Changed: func() {
			s.ccms.mu.Lock()
			defer s.ccms.mu.Unlock()
			s.ccms.unsettled = true
		},
		Provided: s.opts.CCM.None || s.guarded() != nil,
	}
	if s.opts.Dir != nil { // nil in tests
		c.File, c.CAFile = s.opts.Dir.Path("ccm", cloudconfig.Key), s.vcenterCA()
	}
	if s.ccmDeployed() {
		c.Pods = func() cloudconfig.Pods { return s.pods }
	}
	if s.csiDeployed() {
		c.Driver = &cloudconfig.Driver{Deploy: s.csi.Deploy, Host: s.pods.Host}
		if s.opts.CSI.Foreign != nil {
			c.Driver.Configure = s.csi.ConfigureForeign
		}
	}
	return c
}
