package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
)

// Selection says which VMs are meant: those that each list that is not empty has an entry for. The zero value means all.
type Selection struct {
	// Datacenters are names, or inventory paths that begin with a slash.
	Datacenters []string
	// Folders are paths below the VM folder of any datacenter ("k8s/prod"), or inventory paths ("/west/vm/k8s"). The
	// folders in them count, too.
	Folders []string
	// Tags are on the VM itself, "category:name" each.
	Tags []string
	// Names are patterns of VM names, with * and ?.
	Names []string
	// Pools are paths below the root pool of any compute resource ("prod/web"), or inventory paths. Those in them count,
	// too.
	Pools []string
}

// Tag is a tag by its names.
type Tag struct{ Category, Name string }

// String is "category:name".
func (t Tag) String() string { return t.Category + ":" + t.Name }

// ParseTag reads "category:name". The name may hold colons.
func ParseTag(text string) (Tag, error) {
	category, name, ok := strings.Cut(text, ":")
	if !ok || category == "" || name == "" {
		return Tag{}, fmt.Errorf("tag %q: must be category:name, such as env:prod", text)
	}
	return Tag{category, name}, nil
}

// Check says what is wrong with the selection, all of it.
func (s Selection) Check() error {
	var errs []error
	for _, text := range s.Tags {
		_, err := ParseTag(text)
		errs = append(errs, err)
	}
	for _, list := range []struct {
		noun  string
		paths []string
	}{{"datacenter", s.Datacenters}, {"folder", s.Folders}, {"resource pool", s.Pools}} {
		for _, text := range list.paths {
			if strings.Trim(text, "/") == "" {
				errs = append(errs, fmt.Errorf("%s %q: is empty", list.noun, text))
			}
		}
	}
	return errors.Join(errs...)
}

// named tells whether a pattern is for the name.
func (s Selection) named(name string) bool {
	return len(s.Names) == 0 || slices.ContainsFunc(s.Names, func(p string) bool { return glob.Match(p, name) })
}

// tagged tells whether one of the tags is among those.
func (s Selection) tagged(tags []Tag) bool {
	if len(s.Tags) == 0 {
		return true
	}
	for _, text := range s.Tags {
		for _, tag := range tags {
			if tag.String() == text {
				return true
			}
		}
	}
	return false
}
