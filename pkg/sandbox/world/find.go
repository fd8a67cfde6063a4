package world

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Find returns the VM that a request names, by name, hostname, vcenter/name or inventory path.
func Find(vms []VM, r api.VMRequest) (VM, error) {
	var found []VM
	for _, v := range vms {
		if r.VCenter != "" && v.VCenter != r.VCenter {
			continue
		}
		switch r.VM {
		case v.Name, v.VCenter + "/" + v.Name, v.Path, v.VCenter + v.Path:
			found = append(found, v)
		default:
			if v.Hostname != "" && strings.EqualFold(r.VM, v.Hostname) {
				found = append(found, v)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return VM{}, noSuchVM(vms, r)
	}
	names := make([]string, len(found))
	for i, v := range found {
		names[i] = v.VCenter + v.Path
	}
	return VM{}, &api.Error{
		Code:    "ambiguous",
		Message: fmt.Sprintf("vm %q: there are %d: %s", r.VM, len(found), strings.Join(names, ", ")),
		Try:     "name it as one of these, or add --vcenter",
	}
}

// noSuchVM says so, with the name that was perhaps meant.
func noSuchVM(vms []VM, r api.VMRequest) error {
	var names []string
	for _, v := range vms {
		if r.VCenter == "" || v.VCenter == r.VCenter {
			names = append(names, v.Name)
		}
	}
	message := fmt.Sprintf("vm %q not found", r.VM)
	if near := nearest.Of(r.VM, names); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	return &api.Error{Code: "not-found", Message: message, Try: "vsphere-sandbox get vms"}
}
