package roles

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
)

// Object is something in the inventory that permissions can be set on.
type Object struct {
	// Ref is zero where nobody has looked.
	Ref types.ManagedObjectReference
	// Path is the inventory path, "/" for the root folder.
	Path string

	words bool // there is no one object
}

// Sites are the objects of each kind of site. A kind without objects gets no grant.
type Sites map[privilege.Site][]Object
