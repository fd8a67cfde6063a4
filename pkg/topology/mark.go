package topology

// Marks is what any object of the inventory may carry.
type Marks struct {
	// Tags are attached to the object, beside those of region and zone.
	Tags []Tag `json:"tags,omitempty"`
	// Permissions are granted on the object.
	Permissions []Permission `json:"permissions,omitempty"`
}

// Tag is a tag of one of the topology's categories. It exists by being named.
type Tag struct {
	Category string `json:"category"`
	Name     string `json:"name"`
}

// TagCategory is a category of tags.
type TagCategory struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Cardinality says how many of its tags one object may have. Default: single.
	Cardinality Cardinality `json:"cardinality,omitempty"`
	// Types are the types of object that its tags may be attached to (Datacenter, HostSystem, VirtualMachine …). Empty
	// means any.
	Types []string `json:"types,omitempty"`
}

// Cardinality is how many tags of a category one object may have.
type Cardinality string

// The cardinalities of vSphere.
const (
	CardinalitySingle   Cardinality = "single"
	CardinalityMultiple Cardinality = "multiple"
)

func (Cardinality) choices() []string {
	return []string{string(CardinalitySingle), string(CardinalityMultiple)}
}

// Permission grants a role to a user or group.
type Permission struct {
	// User is one of the vCenter's users or its administrator; Group, in place of it, one of their groups, of which
	// administrators@vsphere.local is always there. Names do not differ by case.
	User  string `json:"user,omitempty"`
	Group string `json:"group,omitempty"`
	// Role is one of the vCenter's own or one of vSphere's: Admin, ReadOnly, View, NoAccess, NoCryptoAdmin, Anonymous,
	// TrustedAdmin, NoTrustedAdmin.
	Role string `json:"role"`
	// Propagate passes it on to what is below. Default: yes.
	Propagate Choice `json:"propagate,omitempty"`
}

// User is an account of a vCenter, beside the administrator that every vCenter has.
type User struct {
	// Name is given with its domain: "cpi@vsphere.local".
	Name string `json:"name"`
	// Password is generated when absent.
	Password string `json:"password,omitempty"`
	// Groups are given with their domains, too, and exist by being named.
	Groups []string `json:"groups,omitempty"`
}

// RoleDef is a role of a vCenter, beside those of vSphere.
type RoleDef struct {
	Name string `json:"name"`
	// Privileges are identifiers ("VirtualMachine.Interact.PowerOff"). System.Anonymous, System.View and System.Read come
	// with every role.
	Privileges []string `json:"privileges,omitempty"`
}

// Choice is yes, no, or left open (empty).
type Choice string

// The choices.
const (
	Yes Choice = "yes"
	No  Choice = "no"
)

func (Choice) choices() []string { return []string{string(Yes), string(No)} }
