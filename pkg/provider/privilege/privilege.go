package privilege

// Component is who has an account at a vCenter.
type Component string

// The components.
const (
	CCM Component = "ccm" // the cloud controller manager
	CSI Component = "csi" // the CSI driver's controller
)

// Need is who cannot do without.
type Need string

// The needs. Everybody's is this module's provider or driver, and upstream's.
const (
	Everybody Need = "both"     // shown by a run
	Upstream  Need = "upstream" // upstream's CSI driver alone
	Nobody    Need = "nobody"   // comes with every role, and cannot be left out
)

// Privilege is one thing that an account may do.
type Privilege struct {
	// ID is vSphere's: "Cns.Searchable".
	ID string
	// Label is where the vSphere Client lists it: "CNS > Searchable".
	Label string
	// Calls are the methods of vSphere's APIs that ask for it, of those that are called.
	Calls []string
	// Need is who needs it, and Why what for.
	Need Need
	Why  string
	// Without is what fails in an account that lacks it, and it alone. Nothing where Need is not Everybody.
	Without []Failure
}

// Failure is an operation that fails, and what its user is told.
type Failure struct {
	Operation Operation
	// Says is in the message, word for word.
	Says string
}

// Role is a set of privileges under a name.
type Role struct {
	Name string
	// System says that every vCenter has it.
	System bool
	// Privileges are without those of [Always], but for a role of the system's.
	Privileges []Privilege
	// Option is what has to be wanted for the role to be; empty for one that always is.
	Option Option
}

// Option is something that not every cluster has.
type Option string

// FileVolumes are volumes that several nodes mount at once, by vSAN file services.
const FileVolumes Option = "file volumes"

// IDs are the privileges of the role.
func (r Role) IDs() []string {
	ids := make([]string, len(r.Privileges))
	for i, p := range r.Privileges {
		ids[i] = p.ID
	}
	return ids
}
