package vcenter

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"
)

// Lacking is what the account would have to be allowed for what a vCenter has refused it, "needs Cns.Searchable on
// Folder:group-d1"; empty for any other fault, and where the vCenter does not say. Its own message never says.
func Lacking(f types.BaseMethodFault) string {
	b, ok := f.(types.BaseNoPermission)
	if !ok {
		return ""
	}
	no := b.GetNoPermission()
	var all []string
	for _, m := range no.MissingPrivileges {
		all = append(all, strings.Join(m.PrivilegeIds, ", ")+on(m.Entity))
	}
	if len(all) == 0 && no.PrivilegeId != "" { // before vSphere 8
		var object types.ManagedObjectReference
		if no.Object != nil {
			object = *no.Object
		}
		all = append(all, no.PrivilegeId+on(object))
	}
	if len(all) == 0 {
		return ""
	}
	return "needs " + strings.Join(all, "; ")
}

func on(object types.ManagedObjectReference) string {
	if object.Value == "" {
		return ""
	}
	return " on " + object.String()
}

// Denied reports whether err says that the account may not do what was asked.
func Denied(err error) bool {
	var f types.BaseNoPermission
	_, ok := fault.As(err, &f)
	return ok
}

// lacking adds to an error what [Lacking] says of it.
func lacking(err error) error {
	var f types.BaseNoPermission
	if _, ok := fault.As(err, &f); !ok {
		return err
	}
	if needs := Lacking(f.GetNoPermission()); needs != "" && !strings.Contains(err.Error(), needs) {
		return fmt.Errorf("%w (%s)", err, needs)
	}
	return err
}
