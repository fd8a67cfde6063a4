// Package nsx has the fields of the Supervisor's NSX resources for routable Pods: a RouteSet and an IPPool where the Supervisor's
// network is a Tier-1 gateway, a StaticRoute and an IPAddressAllocation where it is a VPC.
//
// Floor 1: beside pkg/provider, which it does not import.
package nsx

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
)

// The API groups. Both have one version.
const (
	GroupT1  = "nsx.vmware.com"
	GroupVPC = "crd.nsx.vmware.com"
	Version  = "v1alpha1"
)

// RouteSets returns the resource of [RouteSet].
func RouteSets() supervisor.Resource { return resource(GroupT1, "routesets") }

// IPPools returns the resource of [IPPool].
func IPPools() supervisor.Resource { return resource(GroupT1, "ippools") }

// StaticRoutes returns the resource of [StaticRoute].
func StaticRoutes() supervisor.Resource { return resource(GroupVPC, "staticroutes") }

// IPAddressAllocations returns the resource of [IPAddressAllocation].
func IPAddressAllocations() supervisor.Resource { return resource(GroupVPC, "ipaddressallocations") }

func resource(group, name string) supervisor.Resource {
	return supervisor.Resource{Group: group, Version: Version, Name: name}
}

// Status has the conditions that all of them have.
type Status struct {
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is a condition of an object.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Ready reports whether NSX has realized the object, and if not, what its condition reports.
func (s Status) Ready() (ok bool, why string) {
	i := slices.IndexFunc(s.Conditions, func(c Condition) bool { return c.Type == "Ready" })
	if i < 0 {
		return false, "no condition Ready yet"
	}
	c := s.Conditions[i]
	if c.Status == "True" {
		return true, ""
	}
	why = "Ready is " + c.Status
	for _, text := range []string{c.Reason, c.Message} {
		if text != "" {
			why += ": " + text
		}
	}
	return false, why
}

// RouteSet has the routes to the Pods of one Node.
type RouteSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Routes []Route `json:"routes"`
	} `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// Route is one route of a RouteSet.
type Route struct {
	Name        string `json:"name"`
	Destination string `json:"destination"`
	Target      string `json:"target"`
}

// StaticRoute is one route of a VPC.
type StaticRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Network  string    `json:"network"`
		NextHops []NextHop `json:"nextHops"`
	} `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// NextHop is a gateway of a StaticRoute.
type NextHop struct {
	IPAddress string `json:"ipAddress"`
}

// IPPool has the Pod subnets of a cluster's Nodes: requested in its spec, allocated in its status.
type IPPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Subnets []SubnetRequest `json:"subnets"`
	} `json:"spec"`
	Status struct {
		Status  `json:",inline"`
		Subnets []Subnet `json:"subnets,omitempty"`
	} `json:"status,omitzero"`
}

// SubnetRequest is a request for the Node of this name.
type SubnetRequest struct {
	Name         string `json:"name"`
	IPFamily     string `json:"ipFamily,omitempty"`
	PrefixLength int    `json:"prefixLength,omitempty"`
}

// Subnet is an allocated subnet.
type Subnet struct {
	Name string `json:"name"`
	CIDR string `json:"cidr"`
}

// IPAddressAllocation is the Pod subnet of one Node in a VPC.
type IPAddressAllocation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		// Visibility is External or Private.
		Visibility string `json:"ipAddressBlockVisibility,omitempty"`
		Size       int    `json:"allocationSize,omitempty"`
	} `json:"spec"`
	Status struct {
		Status        `json:",inline"`
		AllocationIPs string `json:"allocationIPs,omitempty"`
	} `json:"status,omitzero"`
}
