package sandbox

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
)

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
	return k.s.account(component)
}

// Dynamic is a client for objects of any kind, the administrator's.
func (k kubernetesGround) Dynamic() (dynamic.Interface, error) {
	return dynamic.NewForConfig(k.s.cluster.REST())
}
