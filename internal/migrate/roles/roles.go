package roles

import (
	"fmt"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
)

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
	case privilege.Machines:
		return `"/$DATACENTER/vm/$VM_FOLDER"`
	case privilege.Datastore:
		return `"/$DATACENTER/datastore/$DATASTORE"`
	case privilege.Cluster:
		return `"/$DATACENTER/host/$CLUSTER"`
	}
	return `"/$DATACENTER"`
}
