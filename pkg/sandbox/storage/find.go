package storage

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Find returns the volume that a request names, by claim, PersistentVolume or id.
func Find(rows []api.Volume, name string) (api.Volume, error) {
	var found []api.Volume
	var names []string
	for _, v := range rows {
		_, claim, _ := strings.Cut(v.Claim, "/")
		switch name {
		case v.Name, v.Handle, v.Claim:
			return v, nil
		case claim:
			found = append(found, v)
		}
		names = append(names, v.Name, v.Claim, claim)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		message := fmt.Sprintf("volume %q: no such volume", name)
		if near := nearest.Of(name, names); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		return api.Volume{}, &api.Error{Code: "not-found", Message: message, Try: "vsphere-sandbox get volumes"}
	}
	claims := make([]string, len(found))
	for i, v := range found {
		claims[i] = v.Claim
	}
	return api.Volume{}, &api.Error{
		Code: "ambiguous", Message: fmt.Sprintf("volume %q: there are %d: %s", name, len(found), strings.Join(claims, ", ")), Try: "name its namespace, too",
	}
}
