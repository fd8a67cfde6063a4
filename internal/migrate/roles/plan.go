package roles

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
)

// State is what a vCenter has of a step.
type State string

// The states. Unknown is that of a plan that was not compared.
const (
	Unknown State = ""
	Missing State = "missing"
	Exists  State = "exists"  // exactly this
	Covered State = "covered" // the account has another role there that has these privileges, and more
	Differs State = "differs" // something else is in its place
)

// Plan is what one vCenter is to have.
type Plan struct {
	VCenter string  `json:"vcenter,omitempty"`
	Roles   []Role  `json:"roles"`
	Grants  []Grant `json:"grants"`
	// Notes are about what works and is not as one would think, one line each.
	Notes []string `json:"notes,omitempty"`
}

// Role is a role to create.
type Role struct {
	Name       string   `json:"name"`
	System     bool     `json:"system,omitempty"`
	Privileges []string `json:"privileges"`
	Option     string   `json:"option,omitempty"`
	State      State    `json:"state,omitempty"`
	// Why says what differs.
	Why string `json:"why,omitempty"`

	id int32 // once it is there
}

// Grant is a role on one object, for one account.
type Grant struct {
	Components []privilege.Component `json:"components"`
	Role       string                `json:"role"`
	Site       privilege.Site        `json:"site"`
	// Object is an inventory path, or a description of the site if no vCenter was asked.
	Object    string `json:"object"`
	Propagate bool   `json:"propagate"`
	Reason    string `json:"reason"`
	// User is empty where no account was named.
	User  string `json:"user,omitempty"`
	State State  `json:"state,omitempty"`
	// Why says what differs.
	Why string `json:"why,omitempty"`

	ref   types.ManagedObjectReference
	words bool // Object is no path
}

// wanted reports whether the grant is missing, and it is known what to grant to whom.
func (g *Grant) wanted() bool { return g.State == Missing && g.User != "" && g.ref.Value != "" }

// Request is what a plan is made of.
type Request struct {
	// VCenter is its name; empty for a plan in general.
	VCenter string
	// Sites are the objects to grant on. A kind without objects is described in words, and nothing is granted on it.
	Sites Sites
	// Users are the accounts; the commands for a component without one have a variable.
	Users map[privilege.Component]string
	// Options are those that are wanted.
	Options []privilege.Option
}

// Make makes a plan. Its errors are of accounts: one that has no domain, or two roles for one account on one object.
func Make(r Request) (*Plan, error) {
	p := &Plan{VCenter: r.VCenter}
	for c, user := range r.Users {
		if user != "" && !hasDomain(user) {
			return nil, fmt.Errorf("account %q of the %s has no domain: write it as %s@vsphere.local, or DOMAIN\\%s", user, c, user, user)
		}
	}
	wanted := func(role privilege.Role) bool { return role.Option == "" || slices.Contains(r.Options, role.Option) }
	for _, role := range privilege.Roles() {
		if wanted(role) {
			p.Roles = append(p.Roles, Role{Name: role.Name, System: role.System, Privileges: role.IDs(), Option: string(role.Option)})
		}
	}
	for _, g := range privilege.Grants() {
		if !wanted(g.Role) {
			continue
		}
		objects, looked := r.Sites[g.On]
		if !looked {
			objects = []Object{{Path: g.On.String(), words: true}}
		}
		for _, o := range objects {
			err := p.add(Grant{
				Components: []privilege.Component{g.Component}, Role: g.Role.Name, Site: g.On, Object: o.Path, Propagate: g.Propagate,
				Reason: g.Why, User: r.Users[g.Component], ref: o.Ref, words: o.words,
			}, g.Role.System)
			if err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(p.Grants, func(a, b Grant) int { return cmp.Compare(a.Components[0], b.Components[0]) })
	return p, nil
}

// add adds a grant. An account has one role on an object: ReadOnly is in all others, and gives way to them.
func (p *Plan) add(g Grant, readOnly bool) error {
	i := slices.IndexFunc(p.Grants, func(o Grant) bool {
		return o.User != "" && sameAccount(o.User, g.User) && o.Object == g.Object && o.ref == g.ref
	})
	if i < 0 || g.User == "" {
		p.Grants = append(p.Grants, g)
		return nil
	}
	o := &p.Grants[i]
	system := p.role(o.Role).System
	switch {
	case g.Role == o.Role, readOnly:
		o.Propagate = o.Propagate || g.Propagate
	case system:
		o.Role, o.Propagate = g.Role, o.Propagate || g.Propagate
	default:
		return fmt.Errorf("account %s would need two roles on %s, %s and %s, and vCenter knows one: name other objects", g.User, g.Object, o.Role, g.Role)
	}
	if !slices.Contains(o.Components, g.Components[0]) {
		o.Components = append(o.Components, g.Components[0])
	}
	if o.Reason != g.Reason {
		o.Reason += "; " + g.Reason
	}
	return nil
}

func (p *Plan) role(name string) *Role {
	i := slices.IndexFunc(p.Roles, func(r Role) bool { return r.Name == name })
	return &p.Roles[i]
}

// Object is something in the inventory that permissions can be set on.
type Object struct {
	// Ref is zero if no vCenter was asked.
	Ref types.ManagedObjectReference
	// Path is the inventory path, "/" for the root folder.
	Path string

	words bool // there is no one object
}

// Sites are the objects of each kind of site. A kind without objects gets no grant.
type Sites map[privilege.Site][]Object

// sameAccount compares names of accounts as vCenter does: "ccm@vsphere.local" and "VSPHERE.LOCAL\ccm" are one.
func sameAccount(a, b string) bool { return canonical(a) == canonical(b) }

func canonical(name string) string {
	if domain, user, ok := strings.Cut(name, `\`); ok {
		name = user + "@" + domain
	}
	return strings.ToLower(name)
}

// hasDomain reports whether an account's name has a domain.
func hasDomain(name string) bool {
	at, slash := strings.LastIndexByte(name, '@'), strings.IndexByte(name, '\\')
	return at > 0 && at < len(name)-1 || slash > 0 && slash < len(name)-1
}

// Govc returns the plan as commands of govc. It leaves out what exists, has a shell variable for each name that is not known, and
// a comment for each difference.
func (p *Plan) Govc() string {
	var b strings.Builder
	if p.VCenter != "" {
		fmt.Fprintf(&b, "# vcenter %s\n", p.VCenter)
	}
	for _, r := range p.Roles {
		switch {
		case r.System || r.State == Exists:
		case r.State == Differs:
			fmt.Fprintf(&b, "# role %s is there and differs: %s\n", r.Name, r.Why)
		default:
			fmt.Fprintf(&b, "govc role.create %s %s\n", r.Name, strings.Join(r.Privileges, " "))
		}
	}
	for _, g := range p.Grants {
		switch g.State {
		case Exists, Covered:
			continue
		case Differs:
			fmt.Fprintf(&b, "# %s on %s: %s\n", g.User, g.Object, g.Why)
			continue
		}
		user := shellescape.Quote(g.User)
		if g.User == "" {
			user = `"$` + strings.ToUpper(string(g.Components[0])) + `_USER"`
		}
		object := shellescape.Quote(g.Object)
		if g.words {
			object = variable(g.Site)
		}
		if p.role(g.Role).State == Differs { // to be granted when the role is right
			b.WriteString("# ")
		}
		fmt.Fprintf(&b, "govc permissions.set -principal %s -role %s -propagate=%t %s\n", user, g.Role, g.Propagate, object)
	}
	return b.String()
}

// variable is what stands for an object of a site.
func variable(s privilege.Site) string {
	switch s {
	case privilege.Root:
		return "/"
	case privilege.Above:
		return `"/$FOLDER"`
	case privilege.VMs:
		return `"/$DATACENTER/vm/$VM_FOLDER"`
	case privilege.Datastore:
		return `"/$DATACENTER/datastore/$DATASTORE"`
	case privilege.Cluster:
		return `"/$DATACENTER/host/$CLUSTER"`
	}
	return `"/$DATACENTER"`
}
