package topology

// APIVersion and Kind name the format that [Load] reads.
const (
	APIVersion = "sandbox.vsphere/v1alpha1"
	Kind       = "Topology"
)

// Topology is the desired inventory of a sandbox. [Load] returns it resolved: replica groups expanded, defaults filled
// in, identities derived, references checked. A resolved Topology is never changed, so it may be read concurrently.
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
