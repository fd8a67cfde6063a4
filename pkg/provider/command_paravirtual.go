package provider

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/cloud-provider/names"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/vmoperator"
)

// supervisorSection is the --help section of the flags of the mode vsphere-paravirtual.
const supervisorSection = "supervisor"

// addParavirtual adds the flags of the mode vsphere-paravirtual. The first six have upstream's names: four of v1.36, two of later.
func (c *command) addParavirtual(fs *pflag.FlagSet) {
	o := &c.paravirtual
	fs.BoolVar(&o.Legacy, "is-legacy-paravirtual", false, "Find the VMs of load balancers by labels of capw.vmware.com instead of capv.vmware.com.")
	fs.BoolVar(&o.VPC, "enable-vpc-mode", false, "The Supervisor's network is a VPC of NSX: routable Pods get StaticRoutes and IPAddressAllocations instead of RouteSets and an IPPool.")
	fs.StringVar((*string)(&o.PodIPPoolType), "pod-ip-pool-type", "", "Whether the addresses of routable Pods in a VPC are Public or Private.")
	fs.BoolVar(&o.PropagateAnnotations, "enable-service-annotation-propagation", false, "Copy the annotations of a Service to its VirtualMachineService.")
	fs.StringVar(&o.APIVersion, "vm-operator-api-version", vmoperator.DefaultVersion, "The version of VM Operator's API on the Supervisor.")
	fs.StringVar((*string)(&o.IPFamily), "cluster-ip-family", string(paravirtual.IPv4), "The IP families of the cluster, which select and order the nodes' addresses: ipv4, ipv6, ipv4ipv6 or ipv6ipv4.")
	fs.StringVar(&o.Supervisor.Directory, "supervisor-credentials", supervisor.DefaultDirectory, "Directory with token, ca.crt and namespace of the guest cluster's service account on the Supervisor. A rotated token is used at once.")
	fs.StringVar(&o.OwnerReferenceFile, "supervisor-owner-reference", paravirtual.DefaultOwnerReferenceFile, "File with the reference to the cluster's object on the Supervisor, which owns all that this program creates there.")
	fs.StringVar(&o.Supervisor.Host, "supervisor-host", supervisor.DefaultHost, "Name of the Supervisor in URLs and in its certificate. Its address and port are in the environment: "+supervisor.AddressEnv+" and "+supervisor.PortEnv+".")
}

// checkParavirtual validates the flags of the mode vsphere-paravirtual, if it is selected.
func (c *command) checkParavirtual() error {
	if c.mode() != paravirtual.Name {
		return nil
	}
	if c.provider.Parity != "" {
		return fmt.Errorf("--parity is for --cloud-provider=%s; %s has no such choice", Name, paravirtual.Name)
	}
	o := c.paravirtual
	o.ClusterName = c.ccm.KubeCloudShared.ClusterName
	o.RoutablePods = c.routablePods()
	if err := o.Check(); err != nil {
		return err
	}
	if o.RoutablePods && c.ccm.KubeCloudShared.ClusterCIDR == "" {
		return errors.New("--controllers has route, which needs --cluster-cidr")
	}
	if file := c.ccm.KubeCloudShared.CloudProvider.CloudConfigFile; file != "" {
		// Upstream reads it and uses nothing of it.
		if _, err := input.File(file, input.MaxFile); err != nil {
			return fmt.Errorf("--cloud-config: %w", err)
		}
	}
	return nil
}

// routablePods reports whether the route controller is enabled: by name, or with all controllers if the cluster has a CIDR, without
// which that controller cannot start.
func (c *command) routablePods() bool {
	shared := c.ccm.KubeCloudShared
	list := c.ccm.Generic.Controllers
	has := func(prefix string) bool {
		return slices.Contains(list, prefix+"route") || slices.Contains(list, prefix+names.NodeRouteController)
	}
	switch {
	case !shared.ConfigureCloudRoutes, has("-"):
		return false
	case has(""):
		return true
	}
	return shared.ClusterCIDR != "" && (len(list) == 0 || slices.Contains(list, "*"))
}

// paravirtualOptions returns the options of the mode vsphere-paravirtual. guest is the guest cluster's own API server.
func (c *command) paravirtualOptions(guest *rest.Config, environ []string) paravirtual.Options {
	o := c.paravirtual
	o.ClusterName, o.RoutablePods = c.ccm.KubeCloudShared.ClusterName, c.routablePods()
	o.NodeLabels, o.FilePeriod = c.provider.NodeLabels, c.provider.ConfigPeriod
	for _, v := range environ {
		switch name, value, _ := strings.Cut(v, "="); name {
		case supervisor.AddressEnv:
			o.Supervisor.Address = value
		case supervisor.PortEnv:
			o.Supervisor.Port = value
		}
	}
	o.Supervisor.CallTimeout = c.provider.CallTimeout
	if guest != nil {
		o.Supervisor.GuestCA = guest.CAData
		if file := guest.CAFile; len(guest.CAData) == 0 && file != "" {
			o.Supervisor.GuestCA, _ = os.ReadFile(file) // it only explains an error
		}
	}
	o.IPFamily = cmp.Or(o.IPFamily, paravirtual.IPv4)
	return o
}
