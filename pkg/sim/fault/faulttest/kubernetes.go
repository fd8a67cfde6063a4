package faulttest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
)

// Cluster is a stand-in for Kubernetes, an object store without controllers. It implements [fault.Kubernetes].
type Cluster struct {
	*fake.Clientset
	// Accounts are the ServiceAccounts by component, in kube-system.
	Accounts map[string]string
}

// NewCluster returns a cluster with these objects. Its components are those that a sandbox has.
func NewCluster(objects ...runtime.Object) *Cluster {
	return &Cluster{Clientset: fake.NewClientset(objects...), Accounts: map[string]string{"ccm": "cloud-controller-manager"}}
}

// Client implements [fault.Kubernetes].
func (c *Cluster) Client() kubernetes.Interface { return c.Clientset }

// Credentials implements [fault.Kubernetes].
func (c *Cluster) Credentials() (namespace, name string) {
	return "kube-system", "vsphere-cloud-secret"
}

// Config implements [fault.Kubernetes].
func (c *Cluster) Config() (namespace, name string) { return "kube-system", "vsphere-cloud-config" }

// Account implements [fault.Kubernetes].
func (c *Cluster) Account(component string) (namespace, name string, err error) {
	name, ok := c.Accounts[component]
	if !ok {
		return "", "", fmt.Errorf("component %q: there is none of that name", component)
	}
	return "kube-system", name, nil
}
