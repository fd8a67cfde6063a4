package inventory

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// MissingTagError says that a VM has no region, no zone, or neither, with all that somebody needs who is to put it right.
type MissingTagError struct {
	VM *VM
	// Found is what the first walk that found anything did find, Categories are those of which it found no tag, in quotes.
	Categories []string
	Found      Zone
	// Walked names the objects looked at, each once, with their types: HostSystem "west-1". They are those from the host
	// upward, then from the resource pool, then from the VM.
	Walked []string
	// Tags names the tags of both categories that are on them, in the same order: "us-west" (k8s-zone) on Datacenter "west".
	Tags []string
	// Apart says that there are tags of both categories, and that no walk finds both: results of different walks are not
	// mixed.
	Apart bool
	// Err is why the tags may not be the latest; nil when they are.
	Err error
}

// Error names the categories, everything that was looked at and the tags there.
func (e *MissingTagError) Error() string {
	var b strings.Builder
	walked := strings.Join(e.Walked, ", ")
	if e.Apart {
		fmt.Fprintf(&b, "vm %s: no way up has tags of both categories; looked at %s", e.VM, walked)
	} else {
		fmt.Fprintf(&b, "vm %s: no tag of category %s on any of %s", e.VM, strings.Join(e.Categories, " or "), walked)
	}
	if len(e.Tags) > 0 {
		b.WriteString("; found " + strings.Join(e.Tags, ", "))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *MissingTagError) Unwrap() error { return e.Err }

// miss walks once more and notes everything.
func (w walker) miss(vm *VM, c Categories) *MissingTagError {
	e := &MissingTagError{VM: vm, Err: w.tags.missing()}
	var regions, zones bool
	seen := map[types.ManagedObjectReference]bool{}
	for _, start := range walks(vm) {
		if e.Found == (Zone{}) {
			e.Found, _ = w.walk(vm, start)
		}
		for ref := start; ref.Value != "" && !seen[ref]; ref = w.up(vm, ref) {
			seen[ref] = true
			object := fmt.Sprintf("%s %q", ref.Type, w.index.name(ref))
			e.Walked = append(e.Walked, object)
			for _, name := range w.tags.region[ref] {
				e.Tags = append(e.Tags, fmt.Sprintf("%q (%s) on %s", name, c.Region, object))
				regions = true
			}
			for _, name := range w.tags.zone[ref] {
				e.Tags = append(e.Tags, fmt.Sprintf("%q (%s) on %s", name, c.Zone, object))
				zones = true
			}
		}
	}
	e.Apart = regions && zones
	if e.Found.Region == "" {
		e.Categories = append(e.Categories, fmt.Sprintf("%q", c.Region))
	}
	if e.Found.Zone == "" && (c.Zone != c.Region || e.Found.Region != "") {
		e.Categories = append(e.Categories, fmt.Sprintf("%q", c.Zone))
	}
	return e
}
