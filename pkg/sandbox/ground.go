package sandbox

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/faults"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// standsOn returns what the sandbox was started with, and which nodes its topology has now.
func (s *Sandbox) standsOn() api.Ground {
	g := s.source.Ground()
	g.Cluster, g.Nodes, g.Supervisor = s.facts.Cluster, s.ground.Nodes(s.desired.Topology()), hasSupervisor(s)
	return g
}

// faultGround returns what faults are injected into: the vCenters, the cluster and the processes of the sandbox.
func (s *Sandbox) faultGround() *fault.Ground {
	targets := faults.Targets{
		VCenters: func() vcenters.List { return vcentersOf(s) }, World: func() *world.World { return s.world }, Tags: s.tags,
		Components: s.components.All, Volumes: s.storage.Rows, NodeName: s.nodes.Name, NSX: s.nsx.Manager,
	}
	g := &fault.Ground{
		Items: targets.Items, NSX: s.nsx.Manager, Categories: s.desired.Topology().Spec.Categories, Speed: s.opts.Speed, Events: s.log,
	}
	for _, vc := range vcentersOf(s) {
		endpoint := fault.Reach(vc.Client, vc.Simulator())
		endpoint.Front = vc.Endpoint
		g.VCenters = append(g.VCenters, endpoint)
	}
	if s.guarded() == nil {
		g.Processes, g.Host, g.Cluster = s.processes.For(s.ground), s.config.Host, kubernetesGround{s}
	}
	if hasSupervisor(s) {
		g.Supervisor = &s.supervisor
	}
	return g
}

// kubernetesGround is the cluster as faults see it.
type kubernetesGround struct{ s *Sandbox }

// Client implements [fault.Kubernetes].
func (k kubernetesGround) Client() kubernetes.Interface { return k.s.cluster.Client() }

// Credentials implements [fault.Kubernetes].
func (k kubernetesGround) Credentials() (namespace, name string) {
	return k.s.ccmPlace().Namespace, cloudconfig.Secret
}

// Config implements [fault.Kubernetes].
func (k kubernetesGround) Config() (namespace, name string) {
	return k.s.ccmPlace().Namespace, cloudconfig.ConfigMap
}

// Account implements [fault.Kubernetes].
func (k kubernetesGround) Account(component string) (namespace, name string, err error) {
	if component == ccm.Component {
		return k.s.ccmPlace().Namespace, ccm.ServiceAccount, nil
	}
	if name := k.s.csi.AccountOf(component); name != "" {
		return objects.DefaultNamespace, name, nil
	}
	return "", "", fmt.Errorf("component %q: has no ServiceAccount", component)
}

// Dynamic is a client for objects of any kind, the administrator's.
func (k kubernetesGround) Dynamic() (dynamic.Interface, error) {
	return dynamic.NewForConfig(k.s.cluster.REST())
}
