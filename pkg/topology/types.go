package topology

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// APIVersion and Kind name the format that [Load] reads.
const (
	APIVersion = "sandbox.vsphere/v1alpha1"
	Kind       = "Topology"
)

// Topology is the desired inventory of a sandbox. [Load] returns it resolved: files included, parameters filled in,
// replica groups expanded, defaults and identities derived, references checked. A resolved Topology is never changed, so
// it may be read concurrently.
type Topology struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata names a topology.
type Metadata struct {
	// Name is a DNS label: lower-case letters, digits and hyphens.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Spec is what there is.
type Spec struct {
	// Seed makes the identities of two sandboxes with the same file differ. Default: the topology's name.
	Seed string `json:"seed,omitempty"`
	// Categories are the tag categories that region: and zone: shorthands become tags of.
	Categories Categories `json:"categories,omitzero"`
	// TagCategories are further categories, in every vCenter. The two of Categories may be among them, to say more of
	// them than their names.
	TagCategories []TagCategory `json:"tagCategories,omitempty"`
	// AllowDuplicate is what may be there twice, on purpose.
	AllowDuplicate []Duplicate `json:"allowDuplicate,omitempty"`
	// Stock is what is left as vcsim has it.
	Stock stock.Set `json:"stock,omitempty"`
	// Nodes is what the nodes among the VMs are made of where they do not say so themselves. Default: hollow.
	Nodes NodeKind `json:"nodes,omitempty"`
	// VCenters holds at least one.
	VCenters []VCenter `json:"vcenters"`
}

// Categories are names of tag categories. Defaults: k8s-region and k8s-zone.
type Categories struct {
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
}

// Place carries the shorthands that any ancestor of a VM may have: the object gets a tag of that name in the region or
// zone category. Both end up as values of Kubernetes labels, so they must be fit for one.
type Place struct {
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
}

// Duplicate is something of which vSphere, or a careless administrator, can make two. Two of them in one topology are an
// error unless its AllowDuplicate says so.
type Duplicate string

// The things that may be there twice.
const (
	DuplicateName         Duplicate = "name"     // VM names in one folder
	DuplicateHostname     Duplicate = "hostname" // guests of nodes that report one DNS name; see [Topology.Nodes]
	DuplicateUUID         Duplicate = "uuid"     // BIOS UUIDs
	DuplicateInstanceUUID Duplicate = "instanceUUID"
	DuplicateAddress      Duplicate = "address"
	DuplicateMAC          Duplicate = "mac"
)

// Allows tells whether that may be there twice.
func (s *Spec) Allows(d Duplicate) bool { return slices.Contains(s.AllowDuplicate, d) }

func (Duplicate) choices() []string {
	return []string{
		string(DuplicateName), string(DuplicateHostname), string(DuplicateUUID), string(DuplicateInstanceUUID),
		string(DuplicateAddress), string(DuplicateMAC),
	}
}
