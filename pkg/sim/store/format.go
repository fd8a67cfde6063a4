package store

import (
	"path"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// formatVersion is that of what is beside stock's files. A folder of a newer one is refused.
const formatVersion = 1

// Names in a folder.
const (
	manifestName = "sandbox.json"
	ownFolder    = "sandbox"
	tagsName     = ownFolder + "/tags.json"
	accessName   = ownFolder + "/access.json"
	policiesName = ownFolder + "/policies.xml"
	objectExt    = ".xml"
)

// manifest tells what the folder holds.
type manifest struct {
	Format       int    `json:"format"`
	VCenter      string `json:"vcenter"`
	InstanceUUID string `json:"instanceUUID"`
	Version      string `json:"version"`
	Scrubbed     bool   `json:"scrubbed,omitempty"`
	// Files are the SHA-256 sums of all other files, in hexadecimal digits.
	Files map[string]string `json:"files"`
}

// access is who may do what.
type access struct {
	Roles       []role       `json:"roles"`
	Permissions []permission `json:"permissions"`
	// Users are those that permissions are for, by themselves or as members of groups.
	Users []user `json:"users"`
}

type role struct {
	Name string `json:"name"`
	// System is a role that every vCenter has.
	System     bool     `json:"system,omitempty"`
	Privileges []string `json:"privileges,omitempty"`
}

// permission names principals as vCenter does: "VSPHERE.LOCAL\\administrator".
type permission struct {
	Entity    vc.Ref `json:"entity"`
	Principal string `json:"principal"`
	Group     bool   `json:"group,omitempty"`
	Role      string `json:"role"`
	Propagate bool   `json:"propagate,omitempty"`
}

type user struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// methodFile is where the answer of a method of an object is.
func methodFile(ref vc.Ref, method string) string { return path.Join(ref.Encode(), method+objectExt) }
